"""What the metadata service says when it says no: status, content type and bytes, as they were recorded.

Where nothing was ever recorded, the generic schema ``{"error": sentence}`` is used with a sentence of our own.
"""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.wire.json_bytes import write_json
from forewarn.wire.versions import NEWEST_THREE

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
XML = "text/xml; charset=utf-8"


_SOON = (("Retry-After", "1"),)


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """All of a response that depends on the question; Date, Server and the rest are the face's own."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def error(status: int, sentence: str) -> ErrorReply:
    """The generic schema."""
    return ErrorReply(status, JSON, write_json({"error": sentence}))


def bad_request(sentence: str) -> ErrorReply:
    """400 with a sentence the caller can act on, such as the message of a ``WireError``."""
    return error(400, f"Bad request. {sentence}")


def duplicate_parameter(name: str) -> ErrorReply:
    """400: a query parameter may be given once."""
    return bad_request(f"The query parameter {name[:40]} was specified more than once")


def method_not_allowed(*allowed: str) -> ErrorReply:
    """405, naming the verbs that the endpoint does know."""
    verbs = ", ".join(allowed)
    body = write_json({"error": f"Method not allowed. This endpoint supports {verbs}"})
    return ErrorReply(405, JSON, body, headers=(("Allow", verbs),))


def server_error(request_id: str) -> ErrorReply:
    """500 with the id under which the log tells more."""
    return error(500, f"Internal server error. Retry the request; if it persists, look for {request_id} in the log")


def unavailable(request_id: str) -> ErrorReply:
    """503: what was asked could not be written down, so it was not done."""
    sentence = f"Service unavailable. Retry the request; if it persists, look for {request_id} in the log"
    return ErrorReply(503, JSON, write_json({"error": sentence}), headers=_SOON)


def _xml(code: str, message: str, details: str) -> bytes:
    lines = (
        '<?xml version="1.0" encoding="utf-8"?>',
        '<Error xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">',
        f"    <Code>{code}</Code>",
        f"    <Message>{message}</Message>",
        f"    <Details>{details}</Details>",
        "</Error>",
    )
    return "\n".join(lines).encode()


MISSING_HEADER = bad_request("Required metadata header not specified")
NO_HOST = bad_request("A request of HTTP/1.1 has one Host header")
FORWARDED = bad_request("Requests with an X-Forwarded-For header are not accepted")
OF_A_PAGE = bad_request("A web page may not ask here; call this machine by an address or as localhost")
BAD_VERSION = ErrorReply(
    400,
    JSON,
    write_json(
        {
            "error": "Bad request. api-version is invalid or was not specified in the request. "
            "For more information refer to aka.ms/azureimds",
            "newest-versions": NEWEST_THREE,
        }
    ),
)
LEAF_NEEDS_TEXT = bad_request("A single value has no JSON form; add format=text")
BAD_FORMAT = bad_request("The format must be json or text")
NOT_FOUND = error(404, "Not found")
GONE = ErrorReply(
    410,
    XML,
    _xml("ResourceNotAvailable", "The resource requested is no longer available. Please refresh your cache.", ""),
)
TOO_LARGE = error(413, "Request body too large. At most 64 KiB are accepted")
ENCODED = ErrorReply(
    415,
    JSON,
    write_json({"error": "Unsupported media type. Send the body as it is, without a content encoding"}),
    headers=(("Accept-Encoding", "identity"),),
)
STALE = ErrorReply(
    503,
    JSON,
    write_json({"error": "Service unavailable. This node may not know the latest events. Retry the request"}),
    headers=_SOON,
)
THROTTLED = ErrorReply(429, TEXT, b"Throttle Result: Too Many Requests")
