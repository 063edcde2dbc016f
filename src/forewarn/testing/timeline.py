"""What happened in a region, as lines that a person can read, with what the test itself had to say between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.lifecycle import EventFact
from forewarn.core.looking.story import tell
from forewarn.core.looking.subjects import subject_of
from forewarn.plane.ports import Record
from forewarn.testing.moments import Moment

_UNTOLD = (f.HostAdded, f.ScopeCreated, f.ScopeRead, f.ScopesRead, f.ClockMoved, f.CampaignHostsTaken, f.VmBound)


def facts_told(records: Iterable[Record]) -> list[Moment]:
    """A line for each fact that is worth one."""
    return [_moment(record) for record in records if not isinstance(record.fact, _UNTOLD)]


def in_order(*groups: Iterable[Moment]) -> list[Moment]:
    """All lines in the order in which things happened."""
    return sorted((moment for group in groups for moment in group), key=lambda moment: (moment.seq, moment.order))


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
    event_id = subject_of(fact) if isinstance(fact, EventFact) else ""
    text = f"{tell(fact)} [{event_id[:8]}]" if event_id else tell(fact)
    return Moment(record.seq, fact.at, record.origin.label, text, event_id)
