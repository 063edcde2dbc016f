"""Whether an answer of an engine is one that the OpenAPI document of the protocol promises."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs

from forewarn.engines.remote.openapi import document
from forewarn.engines.remote.wire import WireAnswer


def conforms(method: str, target: str, body: bytes | None, answer: WireAnswer) -> None:
    operation = _operation(method.lower(), urlsplit(target).path)
    if body is not None:
        _check(json.dumps(operation["requestBody"]["content"]), body)
    response = operation["responses"].get(str(answer.status))
    assert response is not None, f"{method} {target}: no {answer.status} is promised"
    if "content" in response:
        _check(json.dumps(response["content"]), answer.body)
    else:
        assert answer.body == b"", (method, target, answer)


def _operation(method: str, path: str) -> dict[str, Any]:
    for pattern, methods in document_once()["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", pattern), path):
            found: dict[str, Any] = methods[method]
            return found
    raise AssertionError(f"{path} is not in the document")


@cache
def document_once() -> dict[str, Any]:
    return document()


def _check(content: str, body: bytes) -> None:
    _validator(content).validate(json.loads(body))


@cache
def _validator(content: str) -> Any:
    """References point into the document, so its shapes stand beside each schema."""
    schema = json.loads(content)["application/json"]["schema"]
    return jsonschema_rs.validator_for({**schema, "components": document_once()["components"]})
