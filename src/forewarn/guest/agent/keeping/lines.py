"""Records as lines of text: a checksum, a space, JSON. What a torn or spoiled line says is not believed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from forewarn.guest.agent.deciding.state import (
    Approval,
    Approving,
    Begun,
    Care,
    Finished,
    Left,
    Mark,
    Record,
    Seen,
    Snapshot,
    StepEffect,
    StepOutcome,
    Undoing,
)
from forewarn.guest.agent.values import Step, Verdict
from forewarn.terms import ScheduledEvent
from forewarn.wire.times import format_iso8601, parse_instant

FORMAT = 1


class BadLine(ValueError):  # noqa: N818 - it reads as what it is
    """A line that is damaged, or of a format that this agent does not know."""


def encode(record: Record) -> bytes:
    """One line, with its end."""
    fields = {"format": FORMAT, "is": type(record).__name__, **_fields(record)}
    body = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return b"%08x %b\n" % (zlib.crc32(body), body)


def decode(line: bytes) -> Record:
    checksum, _, body = line.removesuffix(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        raise BadLine("its checksum is wrong")
    try:
        fields = json.loads(body)
        if fields["format"] != FORMAT:
            raise BadLine(f"it has format {fields['format']}, and this agent knows {FORMAT}")
        return _record(fields)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as problem:
        raise BadLine(str(problem)) from None


def _fields(record: Record) -> dict[str, object]:
    match record:
        case Seen(event, at, verdict, steps):
            return {"event": event_fields(event), "at": format_iso8601(at), "verdict": verdict, "steps": list(steps)}
        case Left(event_id):
            return {"event_id": event_id}
        case Begun(run, step, boot, event):
            return {"run": run, "step": _step_fields(step), "boot": boot, "event": event_fields(event)}
        case Finished(run, outcome, again, detail, at):
            return {"run": run, "outcome": outcome, "again": again, "detail": detail, "at": _instant_field(at)}
        case Undoing(run, name, boot):
            return {"run": run, "name": name, "boot": boot}
        case Approving(event_id, approval, at):
            return {"event_id": event_id, "approval": approval, "at": _instant_field(at)}
        case Snapshot(cares, effects, last_run):
            return {
                "cares": [_care_fields(care) for care in cares],
                "effects": [_effect_fields(effect) for effect in effects],
                "last_run": last_run,
            }


def _record(fields: Mapping[str, Any]) -> Record:
    match fields["is"]:
        case "Seen":
            steps = _texts(fields["steps"])
            return Seen(event_of(fields["event"]), _instant(fields["at"]), Verdict(fields["verdict"]), steps)
        case "Left":
            return Left(_text(fields["event_id"]))
        case "Begun":
            run, boot = _number(fields["run"]), _text(fields["boot"])
            return Begun(run, _step_of(fields["step"]), boot, event_of(fields["event"]))
        case "Finished":
            detail, at = _text(fields.get("detail", "")), _optional_instant(fields.get("at"))
            return Finished(_number(fields["run"]), StepOutcome(fields["outcome"]), bool(fields["again"]), detail, at)
        case "Undoing":
            return Undoing(_number(fields["run"]), _text(fields["name"]), _text(fields["boot"]))
        case "Approving":
            at = _optional_instant(fields.get("at"))
            return Approving(_text(fields["event_id"]), Approval(fields["approval"]), at)
        case "Snapshot":
            cares = tuple(_care_of(each) for each in fields["cares"])
            effects = tuple(_effect_of(each) for each in fields["effects"])
            return Snapshot(cares, effects, _number(fields["last_run"]))
        case other:
            raise BadLine(f"{other!r} is no kind of record")


def event_fields(event: ScheduledEvent) -> dict[str, object]:
    """An event in our own words, for the file."""
    return {
        "id": event.event_id,
        "status": event.status,
        "type": event.type,
        "resources": list(event.resources),
        "not_before": None if event.not_before is None else format_iso8601(event.not_before),
        "description": event.description,
        "source": event.source,
        "duration_seconds": event.duration_seconds,
    }


def event_of(fields: Mapping[str, Any]) -> ScheduledEvent:
    not_before = fields["not_before"]
    return ScheduledEvent(
        event_id=_text(fields["id"]),
        status=_text(fields["status"]),
        type=_text(fields["type"]),
        resources=_texts(fields["resources"]),
        not_before=None if not_before is None else _instant(not_before),
        description=None if fields["description"] is None else _text(fields["description"]),
        source=None if fields["source"] is None else _text(fields["source"]),
        duration_seconds=None if fields["duration_seconds"] is None else _number(fields["duration_seconds"]),
    )


def _step_fields(step: Step) -> dict[str, object]:
    return {
        "name": step.name,
        "kind": step.kind,
        "settings": step.settings,
        "timeout_seconds": step.timeout_seconds,
        "retries": step.retries,
        "repeatable": step.repeatable,
    }


def _step_of(fields: Mapping[str, Any]) -> Step:
    step = Step(**fields)
    _texts([step.name, step.kind])
    if not isinstance(step.settings, dict) or isinstance(step.timeout_seconds, str):
        raise BadLine("its step is none")
    return step


def _care_fields(care: Care) -> dict[str, object]:
    return {
        "event": event_fields(care.event),
        "at": format_iso8601(care.seen_at),
        "verdict": care.verdict,
        "steps": list(care.steps),
        "approval": care.approval,
        "sent": care.sent,
        "sent_at": _instant_field(care.sent_at),
    }


def _care_of(fields: Mapping[str, Any]) -> Care:
    return Care(
        event_of(fields["event"]),
        _instant(fields["at"]),
        Verdict(fields["verdict"]),
        _texts(fields["steps"]),
        Approval(fields["approval"]),
        _number(fields.get("sent", 0)),
        _optional_instant(fields.get("sent_at")),
    )


def _effect_fields(effect: StepEffect) -> dict[str, object]:
    return {
        "step": _step_fields(effect.step),
        "mark": effect.mark,
        "run": effect.run,
        "boot": effect.boot,
        "event": event_fields(effect.event),
        "again": effect.again,
        "touched": effect.touched,
        "tries": effect.tries,
        "why": effect.why,
        "failed_at": _instant_field(effect.failed_at),
    }


def _effect_of(fields: Mapping[str, Any]) -> StepEffect:
    return StepEffect(
        _step_of(fields["step"]),
        Mark(fields["mark"]),
        _number(fields["run"]),
        _text(fields["boot"]),
        event_of(fields["event"]),
        bool(fields["again"]),
        bool(fields["touched"]),
        _number(fields.get("tries", 0)),
        _text(fields.get("why", "")),
        _optional_instant(fields.get("failed_at")),
    )


def _instant_field(at: datetime | None) -> str | None:
    return None if at is None else format_iso8601(at)


def _optional_instant(text: str | None) -> datetime | None:
    return None if text is None else _instant(text)


def _instant(text: str) -> datetime:
    found = parse_instant(text)
    if found is None:
        raise BadLine("an instant is blank")
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadLine("a text is none")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadLine("a list of texts is none")
    return tuple(_text(each) for each in value)


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadLine("a number is none")
    return value
