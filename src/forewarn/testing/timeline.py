"""What happened in a region, as lines that a person can read, with what the test itself had to say between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.lifecycle import EventFact
from forewarn.core.looking.story import tell
from forewarn.plane.ports import Record

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
    event_id = f.subject_of(fact) if isinstance(fact, EventFact) else ""
    text = f"{tell(fact)} [{event_id[:8]}]" if event_id else tell(fact)
    return Moment(record.seq, fact.at, record.origin.label, text, event_id)
