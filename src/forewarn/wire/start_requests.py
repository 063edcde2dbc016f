"""The body of an approval: ``{"StartRequests":[{"EventId":"…"}]}``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from forewarn.wire.json_bytes import WireError, read_json, write_json

_GUID = re.compile(r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}")


def encode_start_requests(ids: Iterable[str]) -> bytes:
    """Approve these events. The ids go out as they came in: not every server ignores their case."""
    return write_json({"StartRequests": [{"EventId": event_id} for event_id in ids]})


def decode_start_requests(body: bytes) -> tuple[str, ...]:
    """The ids to approve: upper case, each once, in the order first named.

    Whatever else is in the body is ignored, above all a DocumentIncarnation: old clients send one, as a string, a
    number, or stale, and the service never minded.
    """
    if not body.strip():
        raise WireError("The body is empty; it must name the events to start.")
    requests = _list_of_requests(read_json(body))
    return tuple(dict.fromkeys(_event_id(request, place) for place, request in enumerate(requests)))


def _list_of_requests(root: object) -> list[object]:
    if not isinstance(root, dict):
        raise WireError("The body must be a JSON object.")
    if "StartRequests" not in root:
        raise WireError("The body has no StartRequests.")
    requests = root["StartRequests"]
    if not isinstance(requests, list):
        raise WireError("StartRequests must be a list.")
    if not requests:
        raise WireError("StartRequests is empty; it must name the events to start.")
    return cast("list[object]", requests)


def _event_id(request: object, place: int) -> str:
    if not isinstance(request, dict):
        raise WireError(f"StartRequests[{place}] must be an object.")
    if "EventId" not in request:
        raise WireError(f"StartRequests[{place}] has no EventId.")
    event_id = request["EventId"]
    if not isinstance(event_id, str):
        raise WireError(f"StartRequests[{place}].EventId must be a string.")
    guid = event_id.upper()
    if not _GUID.fullmatch(guid):
        raise WireError(f"StartRequests[{place}].EventId is not a GUID.")
    return guid
