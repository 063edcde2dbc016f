"""How the operator face refuses and fails: one JSON envelope, with a sentence that a person can act on."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from forewarn.core.refusal import Hint, Refused
from forewarn.plane.ports import JournalFault, Uncertain
from forewarn.web.current import RETRY_AFTER_SECONDS, UNCERTAIN
from forewarn.web.operator.desk import Desk
from forewarn.web.operator.near import did_you_mean
from forewarn.web.operator.schema.answers import ErrorKind

_KINDS: dict[Hint, tuple[int, ErrorKind]] = {
    Hint.INVALID: (400, "invalid"),
    Hint.NOT_FOUND: (404, "not_found"),
    Hint.CONFLICT: (409, "conflict"),
}
_MOST_COMPLAINTS = 3  # a sentence that a person reads to its end
_LONGEST_NAME = 80  # of what is quoted in a sentence

_log = logging.getLogger(__name__)


def error_answer(
    status: int, kind: ErrorKind, message: str, request_id: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The envelope. Text that no encoding can carry is replaced, so that saying no never fails."""
    carried = message.encode("utf-8", "replace").decode()
    content = {"error": {"kind": kind, "message": carried, "request_id": request_id}}
    return JSONResponse(content, status, headers=dict(headers or {}))


def answer_errors(app: FastAPI) -> None:
    """Register the handlers that make the envelope of every exception."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(JournalFault, _refused)
    app.add_exception_handler(Uncertain, _refused)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _not_routed)


def _request_id(request: Request) -> str:
    found: str = request.state.request_id
    return found


def refusal_of(problem: Exception, desk: Desk) -> tuple[int, ErrorKind, str] | None:
    """Status, kind and sentence for a request that the region or its store did not take; None for other failures.

    A write whose fate is unknown is a 502 `uncertain` and no 503: clients retry a 503 by themselves, and most requests
    are not idempotent.
    """
    match problem:
        case Refused():
            status, kind = _KINDS[problem.hint]
            question = did_you_mean(desk.plane.region, problem.missing) if problem.missing else ""
            return status, kind, problem.message + question
        case Uncertain():
            return 502, "uncertain", UNCERTAIN
        case JournalFault():
            return 503, "unavailable", str(problem)
    return None


async def _refused(request: Request, problem: Exception) -> JSONResponse:
    found = refusal_of(problem, request.app.state.desk)
    assert found is not None
    status, kind, message = found
    if kind == "uncertain":
        _log.warning("Request %s may have been kept or not: %s", _request_id(request), problem)
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if kind == "unavailable" else {}
    return error_answer(status, kind, message, _request_id(request), headers)


async def _not_routed(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)
    path = request.url.path[:_LONGEST_NAME]
    if problem.status_code == 404:
        message = f"There is nothing at {path}; /openapi.json lists what there is."
        return error_answer(404, "not_found", message, _request_id(request))
    if problem.status_code == 405:
        message = f"{request.method} is not possible at {path}; /openapi.json lists what is."
        return error_answer(405, "invalid", message, _request_id(request), {"Allow": _possible(request)})
    return error_answer(problem.status_code, "invalid", f"{problem.detail}.", _request_id(request), problem.headers)


def _possible(request: Request) -> str:
    """The methods that OpenAPI has for a path. The framework's `Allow` names only those of its first route there."""
    path: str = request.scope["path"]
    documented: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    fitting = [path] if path in documented else [each for each in documented if _leads_to(path, each)]
    return ", ".join(sorted({method.upper() for each in fitting for method in documented[each]}))


def _leads_to(path: str, documented: str) -> bool:
    given, wanted = path.split("/"), documented.split("/")
    return len(given) == len(wanted) and all(
        part == name or (name.startswith("{") and part) for part, name in zip(given, wanted, strict=True)
    )


async def _not_understood(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    return error_answer(400, "invalid", complaint(problem.errors()), _request_id(request))


def complaint(errors: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong with a body or a query, in sentences that name the fields; the first few are enough."""
    sentences = [_sentence(error) for error in errors[:_MOST_COMPLAINTS]]
    more = len(errors) - len(sentences)
    return " ".join(sentences) + (f" And {more} more like that." if more else "")


def _sentence(error: Mapping[str, Any]) -> str:
    place, *path = error["loc"]
    what = "field" if place == "body" else f"{place} parameter"
    name = ".".join(str(part) for part in path)[:_LONGEST_NAME]
    match error["type"]:
        case "extra_forbidden":
            return f"There is no {what} '{name}' here."
        case "json_invalid":
            return f"The body is not JSON: {error['ctx']['error']} at character {name}."
        case "missing":
            return f"The {what} '{name}' is missing." if name else "This request needs a JSON body."
        case "model_attributes_type" if not name:
            return "Send the body as a JSON object, with the header Content-Type: application/json."
    told = str(error["msg"]).removeprefix("Value error, ")
    told = told[:1].lower() + told[1:]
    return f"The {what} '{name}' is not right: {told}." if name else f"The body is not right: {told}."
