"""From an HTTP request to a ``Call``: all bytes from callers are checked here, before any handler sees them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.requests import Request

from forewarn.plane.ports import Origin
from forewarn.web.body_size import too_many_parts
from forewarn.web.resource_manager.call import Call
from forewarn.web.resource_manager.errors import ArmError
from forewarn.web.resource_manager.templates.jsonc import to_json

MOST_BODY_BYTES = 1_000_000  # ours: what no template of az comes near; Azure takes 4 MB
_MOST_DRAINED = 16 * MOST_BODY_BYTES  # ours: read and thrown away, so that the caller gets to hear the answer
_DEEPEST = 64  # levels of JSON, as .NET's readers take by default
_LONGEST_NAME = 260  # ours: longer than any name that the kinds served here may have
_LONGEST_WHO = 100  # as web/operator/desk.py
MOST_PARTS = 50_000  # ours: values, lists and objects of a body; a template of the largest size has half as many
MOST_FORM_FIELDS = 64  # ours: a request for a token has six
_FORM = "application/x-www-form-urlencoded"
_API_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-[a-z0-9.]{1,20})?", re.IGNORECASE)


def read_head(request: Request, request_id: str) -> Call:
    """Everything but the body."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    query: dict[str, str] = {}
    asked: bytes = request.scope["query_string"]  # not of ``request.url``, which is made with the Host header
    for name, value in parse_qsl(asked.decode("latin-1"), keep_blank_values=True):
        query.setdefault(name.lower(), value)
    return Call(
        method=request.method,
        path=_path(request),
        query=query,
        body=None,
        base_url=f"{request.url.scheme}://{headers.get('host', '')}",
        origin=Origin("resource-manager", _printable(_who(headers))[:_LONGEST_WHO], request_id),
        headers=headers,
    )


def _who(headers: Mapping[str, str]) -> str:
    """The command that was typed, where the client tells it: ``az vm restart``, ``Restart-AzVM``; else the client."""
    agent, command = headers.get("user-agent", ""), headers.get("commandname", "")
    return f"az {command}" if command and "azurecli/" in agent.lower() else command or agent


def _path(request: Request) -> str:
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    segments = [unquote(part) for part in raw.decode("latin-1").partition("?")[0].split("/") if part]
    check_names(segments)
    return "/" + "/".join(segments)


def check_names(segments: Iterable[str]) -> None:
    """What stands between the slashes of a path."""
    for segment in segments:
        odd = any(letter in "/\\" or not letter.isprintable() for letter in segment)
        if odd or not 0 < len(segment) <= _LONGEST_NAME:
            shown = _printable(segment)[:80]
            raise ArmError(400, "InvalidResourceName", f"'{shown}' holds what no name may hold, or is too long.")


def _printable(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable()).strip()


def check_api_version(text: str) -> None:
    """Any date is accepted; handlers decide which members it knows."""
    if not text:
        raise ArmError(
            400,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        )
    if not _API_VERSION.fullmatch(text):
        shown = _printable(text)[:40]
        raise ArmError(
            400, "InvalidApiVersionParameter", f"The api-version '{shown}' is invalid: write a date such as 2024-11-01."
        )


async def read_body(request: Request, *, is_template: bool = False) -> Any:
    """The parsed body; None where there is none. Templates may be written a little more freely."""
    content = await _content(request)
    if not content:
        return None
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        return await asyncio.to_thread(_form, content)
    if too_many_parts(content, MOST_PARTS, MOST_PARTS):
        raise _not_understood(f"has more than {MOST_PARTS} values.")
    try:
        found = await asyncio.to_thread(_decode, content, is_template) if is_template else _decode(content, is_template)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _not_understood(f"could not be deserialized: {problem}.") from None
    _check_depth(found)
    return found


def _form(content: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(content.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_FORM_FIELDS))
    except ValueError:
        raise _not_understood(f"has more than {MOST_FORM_FIELDS} fields.") from None


def _decode(content: bytes, is_template: bool) -> Any:
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        if not is_template:
            raise
    return msgspec.json.decode(to_json(content.decode()))


async def _content(request: Request) -> bytes:
    kept, total = bytearray(), 0
    async for part in request.stream():
        total += len(part)
        if total <= MOST_BODY_BYTES:
            kept += part
        elif total > _MOST_DRAINED:
            break
    if total > MOST_BODY_BYTES:
        raise ArmError(
            413, "RequestContentTooLarge", f"The request content is larger than the {MOST_BODY_BYTES} bytes allowed."
        )
    return bytes(kept)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        level = [child for each in level for child in _children(each)]
        if not level:
            return
    raise _not_understood(f"is nested more than {_DEEPEST} deep.")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _not_understood(what: str) -> ArmError:
    return ArmError(400, "InvalidRequestContent", f"The request content was invalid and {what}")
