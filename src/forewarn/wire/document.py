"""Documents as bytes. The writer is exact for each api-version; the reader survives what has been seen in the wild."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from forewarn.terms import Document, EventStatus, ScheduledEvent
from forewarn.wire.json_bytes import WireError, read_json, write_json
from forewarn.wire.times import format_iso8601, format_rfc1123, parse_instant
from forewarn.wire.versions import ApiVersion

NotBeforeFormat = Literal["rfc1123", "iso8601"]

_FORMATS: dict[NotBeforeFormat, Callable[[datetime], str]] = {"rfc1123": format_rfc1123, "iso8601": format_iso8601}


def encode_document(
    document: Document,
    version: ApiVersion,
    *,
    role_instances: bool = False,
    not_before_format: NotBeforeFormat = "rfc1123",
) -> bytes:
    """What a caller of this version sees: compact, in wire order, newer types hidden and newer fields absent.

    ``role_instances`` says that the scope is a classic cloud service, whose names never carried the underscore.
    """
    prefix = "_" if version.underscore and not role_instances else ""
    write_instant = _FORMATS[not_before_format]
    shown = [event for event in document.events if event.type in version.types]
    events = [_event_fields(event, version, prefix, write_instant) for event in shown]
    return write_json({"DocumentIncarnation": document.incarnation, "Events": events})


def _event_fields(
    event: ScheduledEvent, version: ApiVersion, prefix: str, write_instant: Callable[[datetime], str]
) -> dict[str, object]:
    """Absent, not null, is how an untold field looks."""
    not_before = None if event.status == EventStatus.STARTED else event.not_before
    values = {
        "EventId": event.event_id.upper(),
        "EventStatus": event.status,
        "EventType": event.type,
        "ResourceType": "VirtualMachine",
        "Resources": [prefix + name for name in event.resources],
        "NotBefore": "" if not_before is None else write_instant(not_before),
        "Description": event.description,
        "EventSource": event.source,
        "DurationInSeconds": event.duration_seconds,
    }
    return {name: values[name] for name in version.fields if values[name] is not None}


def decode_document(body: bytes) -> Document | None:
    """The document, or None for an empty body: the service has been seen to send one where it had nothing to say.

    Unknown fields, types and states are accepted, incarnations may be strings or floats, fields may be missing. Ids
    and names keep their spelling. Only what cannot be told apart from something else entirely is refused.
    """
    if not body.strip():
        return None
    root = read_json(body)
    if not isinstance(root, dict):
        raise WireError("A document must be a JSON object.")
    if "DocumentIncarnation" not in root and "Events" not in root:
        raise WireError("This is no document: it has neither DocumentIncarnation nor Events.")
    events = root.get("Events")
    if events is not None and not isinstance(events, list):
        raise WireError("Events must be a list.")
    return Document(
        incarnation=_incarnation(root.get("DocumentIncarnation")),
        events=tuple(_event(item, place) for place, item in enumerate(events or ())),
    )


def _incarnation(value: object) -> int:
    """0 where the document does not say; the service counts from 1."""
    number = 0 if value is None else _integer(value)
    if number is None:
        raise WireError("DocumentIncarnation must be a whole number.")
    return number


def _event(item: object, place: int) -> ScheduledEvent:
    if not isinstance(item, dict):
        raise WireError(f"Events[{place}] must be an object.")
    event_id = _text(item.get("EventId"))
    if not event_id:
        raise WireError(f"Events[{place}] has no EventId.")
    return ScheduledEvent(
        event_id=event_id,
        status=_text(item.get("EventStatus")) or "",
        type=_text(item.get("EventType")) or "",
        resources=_names(item.get("Resources"), place),
        not_before=_instant(item.get("NotBefore")),
        description=_text(item.get("Description")),
        source=_text(item.get("EventSource")),
        duration_seconds=_integer(item.get("DurationInSeconds")),
    )


def _names(value: object, place: int) -> tuple[str, ...]:
    """Refused where unreadable: a reader that found itself not named would let the event pass."""
    names = [_text(name) for name in value] if isinstance(value, list) else [] if value is None else [None]
    if None in names:
        raise WireError(f"Events[{place}].Resources must be a list of names.")
    return tuple(name for name in names if name is not None)


def _instant(value: object) -> datetime | None:
    """The instant; None where it cannot be read. The event counts all the same, without a time to wait for."""
    try:
        return parse_instant(value) if isinstance(value, str) else None
    except WireError:
        return None


def _text(value: object) -> str | None:
    """Lone surrogates, which JSON can spell and UTF-8 cannot, become question marks."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _integer(value: object) -> int | None:
    """A whole number, however it was spelled."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        value = value.strip()
        return int(value) if value.removeprefix("-").isdecimal() and len(value) <= 20 else None
    return value if isinstance(value, int) else None
