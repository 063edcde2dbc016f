from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from forewarn.wire import errors
from forewarn.wire.errors import ErrorReply


@pytest.mark.parametrize(
    ("answer", "status", "content_type", "body"),
    [
        (
            errors.MISSING_HEADER,
            400,
            "application/json; charset=utf-8",
            b'{"error":"Bad request. Required metadata header not specified"}',
        ),
        (
            errors.BAD_VERSION,
            400,
            "application/json; charset=utf-8",
            (
                b'{"error":"Bad request. api-version is invalid or was not specified in the request. '
                b'For more information refer to aka.ms/azureimds",'
                b'"newest-versions":["2025-04-07","2024-07-17","2024-03-15"]}'
            ),
        ),
        (errors.THROTTLED, 429, "text/plain; charset=utf-8", b"Throttle Result: Too Many Requests"),
    ],
)
def test_a_recorded_refusal_is_exactly_these_bytes(
    answer: ErrorReply, status: int, content_type: str, body: bytes
) -> None:
    assert answer == ErrorReply(status, content_type, body)


@pytest.mark.parametrize(
    ("answer", "status", "start"),
    [
        (errors.FORWARDED, 400, "Bad request. "),
        (errors.LEAF_NEEDS_TEXT, 400, "Bad request. "),
        (errors.BAD_FORMAT, 400, "Bad request. "),
        (errors.duplicate_parameter("api-version"), 400, "Bad request. The query parameter api-version "),
        (errors.bad_request("The body is empty."), 400, "Bad request. The body is empty."),
        (errors.NOT_FOUND, 404, "Not found"),
        (errors.method_not_allowed("GET", "POST"), 405, "Method not allowed. This endpoint supports GET, POST"),
        (errors.TOO_LARGE, 413, "Request body too large. "),
        (errors.server_error("abc-123"), 500, "Internal server error. "),
    ],
)
def test_every_other_refusal_has_the_generic_schema(answer: ErrorReply, status: int, start: str) -> None:
    parsed = json.loads(answer.body)

    assert answer.status == status
    assert answer.content_type == errors.JSON
    assert list(parsed) == ["error"]
    assert parsed["error"].startswith(start)


def test_a_refused_verb_names_those_allowed() -> None:
    assert errors.method_not_allowed("GET").headers == (("Allow", "GET"),)


def test_a_server_error_names_its_request() -> None:
    assert b"abc-123" in errors.server_error("abc-123").body


def test_gone_is_the_front_ends_xml() -> None:
    root = ElementTree.fromstring(errors.GONE.body)

    assert (errors.GONE.status, errors.GONE.content_type) == (410, "text/xml; charset=utf-8")
    assert root.findtext("Code") == "ResourceNotAvailable"
    assert root.findtext("Message") == "The resource requested is no longer available. Please refresh your cache."


def test_what_the_caller_sent_cannot_make_a_refusal_long() -> None:
    assert len(errors.duplicate_parameter("x" * 10_000).body) < 200
