"""What ``forewarn event watch`` says of each record: the change, the event's type and VMs, and what follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from forewarn.cli import terse
from forewarn.cli.api.shapes import Event
from forewarn.cli.api.time_shapes import Record
from forewarn.cli.outcomes import TYPE_OF_CAUSE
from forewarn.cli.output import Output, cut
from forewarn.settings.times import parse_instant

_GAP = "  "
# The longest word of each column; a resource gets at least ten characters
_CHANGE_WIDTH, _TYPE_WIDTH, _RESOURCES_LEAST = 10, 9, 10

# Which facts are changes of an event, and the word for each.
CHANGES = {
    "EventScheduled": "scheduled",
    "EventBornStarted": "started",
    "EventAnnounced": "announced",
    "EventApproved": "approved",
    "EventStarted": "started",
    "ImpactBegan": "impact",
    "ImpactEnded": "recovering",
    "EventCompleted": "completed",
    "EventCanceled": "canceled",
}


@dataclass(frozen=True)
class SeenEvent:
    """What later records of an event do not repeat."""

    type: str
    scope: str
    vms: tuple[str, ...]
    resources: tuple[str, ...]


@dataclass
class SeenEvents:
    """The events seen so far, so that every line can say whom it is about."""

    known: dict[str, SeenEvent] = field(default_factory=dict)

    def fill(self, events: Iterable[Event]) -> None:
        for event in events:
            vms = tuple(name.lower() for name in event["vms"])
            self.known[event["id"]] = SeenEvent(event["type"], event["scope"], vms, tuple(event["resources"]))

    def learn(self, record: Record) -> SeenEvent | None:
        """What is known of the record's event; an ended one is forgotten after this."""
        event = record["body"].get("event")
        if isinstance(event, dict):
            self.known[record["subject"]] = _from_fact(event)
        if record["fact"] in ("EventCompleted", "EventCanceled"):
            return self.known.pop(record["subject"], None)
        return self.known.get(record["subject"])


def _from_fact(event: dict[str, Any]) -> SeenEvent:
    cause = str(event.get("cause", ""))
    vms, resources = (tuple(map(str, event.get(key, ()))) for key in ("vms", "resources"))
    return SeenEvent(TYPE_OF_CAUSE.get(cause, cause), str(event.get("scope", "")), vms, resources)


@dataclass(frozen=True)
class EventFilter:
    """Which events to follow; empty means any."""

    event_id: str = ""
    vm: str = ""
    scope: str = ""

    def has(self, record: Record, known: SeenEvent | None) -> bool:
        if record["fact"] not in CHANGES:
            return False
        if self.event_id and record["subject"].lower() != self.event_id.lower():
            return False
        if known is None:
            return not (self.vm or self.scope)
        return self.vm.lower() in ("", *known.vms) and self.scope.lower() in ("", known.scope)


def change_line(out: Output, record: Record, known: SeenEvent | None) -> str:
    """When, what, which type, whom, which id, and the rest; on a screen as much of it as one line holds."""
    at, change, rest = terse.moment(out, record["at"]), CHANGES[record["fact"]], _rest(out, record)
    resources, kind = (", ".join(known.resources), known.type) if known else ("", "")
    event_id = terse.one_id(out, record["subject"])
    first = (at, out.state(change.ljust(_CHANGE_WIDTH)), kind.ljust(_TYPE_WIDTH))
    if out.width is None:
        return _GAP.join((*first, resources, event_id, rest)).rstrip()
    room = out.width - len(at) - _CHANGE_WIDTH - _TYPE_WIDTH - len(event_id) - 5 * len(_GAP)
    rest = cut(rest, max(room - _RESOURCES_LEAST, 1))
    resources = cut(resources, max(room - len(rest), 1))
    return _GAP.join((*first, event_id, resources, rest)).rstrip()


def _rest(out: Output, record: Record) -> str:
    """What the change carries besides itself."""
    body, now = record["body"], parse_instant(record["at"])
    if record["fact"] == "EventScheduled":
        return f"not before {_at(out, body.get('event', {}).get('not_before'), now)}"
    if record["fact"] == "EventBornStarted":
        return "at once" if body.get("event", {}).get("announced", True) else "at once: nobody in the scope reads"
    if record["fact"] == "EventApproved":
        return f"by {body.get('by') or record['who']}"
    if record["fact"] == "ImpactBegan" and body.get("ends_at"):
        return f"until {_at(out, body['ends_at'], now)}"
    return str(body.get("why", "")) if record["fact"] == "EventCanceled" else ""


def _at(out: Output, text: object, now: datetime) -> str:
    if not isinstance(text, str):
        return "an unknown time"
    return terse.moment(out, text) if out.terminal else terse.ahead(out, text, now)
