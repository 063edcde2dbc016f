"""What happened in a region, as lines that a person can read, with what the test itself had to say between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.plane.ports import Record
from forewarn.web.operator.stories import by, tell

_UNTOLD = (f.HostAdded, f.ScopeCreated, f.ScopeRead, f.ScopesRead, f.ClockMoved, f.CampaignHostsTaken, f.VmBound)


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of a timeline. ``seq`` tells the order where the clock stood still; a note comes after its number."""

    seq: int
    at: datetime
    by: str
    text: str
    event_id: str = ""

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}  {self.by:<14}{self.text}"


def moments(records: Iterable[Record], notes: Sequence[Moment]) -> list[Moment]:
    """All that is worth a line, in the order in which it happened."""
    told = [_moment(record) for record in records if not isinstance(record.fact, _UNTOLD)]
    return sorted([*told, *notes], key=lambda moment: moment.seq)


def story(told: Sequence[Moment], now: datetime) -> str:
    """The timeline as text; each line begins with how long after the first it was."""
    if not told:
        return "Nothing has happened in the region."
    first = told[0].at
    lines = [f"  {_after(moment.at - first):>10}  {moment}" for moment in told]
    return "\n".join([*lines, f"  {_after(now - first):>10}  {now:%Y-%m-%d %H:%M:%S}  now"])


def _after(gone: timedelta) -> str:
    return f"+{timedelta(seconds=round(gone.total_seconds()))}"


def _moment(record: Record) -> Moment:
    fact = record.fact
    subject = f.subject_of(fact)
    event_id = subject if isinstance(fact, _OF_EVENTS) else ""
    text = f"{tell(fact)} [{subject[:8]}]" if event_id else _tell_other(fact)
    return Moment(record.seq, fact.at, by(record.origin), text, event_id)


_OF_EVENTS = (
    f.EventScheduled,
    f.EventBornStarted,
    f.EventAnnounced,
    f.EventApproved,
    f.EventStarted,
    f.EventCanceled,
    f.ImpactBegan,
    f.ImpactEnded,
    f.EventCompleted,
)


def _tell_other(fact: f.Fact) -> str:
    match fact:
        case f.VmCreated(name=name, host=host):
            return f"{name} was made, on host-{host}."
        case f.VmDeleted(vm=vm):
            return f"{vm} was deleted."
        case f.VmMoved(vm=vm, host=host):
            return f"{vm} moved to host-{host}."
        case f.VmSpared(vm=vm, event_id=event_id):
            return f"{vm} has left the host of [{event_id[:8]}], which will not hit it any more."
        case f.VmDeallocated(vm=vm):
            return f"{vm} was deallocated."
        case f.VmStarted(vm=vm, host=host):
            return f"{vm} was started, on host-{host}."
        case f.ScopeEnabled(scope=scope):
            return f"{scope} is enabled: from here on its events wait."
        case f.ScopeDisabled(scope=scope):
            return f"{scope} is disabled: nobody there has read for too long."
        case f.HostMarked(host=host, health=health):
            return f"host-{host} is {health.value}."
    return f"{type(fact).__name__}: {f.subject_of(fact)}."
