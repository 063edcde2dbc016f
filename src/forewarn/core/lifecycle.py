"""The life of an event: which facts can follow in which phase, as a table, and the event after each of them.

The region's fold and the stories told from a journal both use ``event_after``, so that they cannot disagree.
``docs/lifecycle.md`` draws its diagram from the table.
"""

from __future__ import annotations

from typing import TypeAlias

from forewarn.core import facts as f
from forewarn.core.phases import Phase
from forewarn.core.region import Event, replace

EventMoved: TypeAlias = (
    f.EventAnnounced
    | f.EventApproved
    | f.EventStarted
    | f.EventCanceled
    | f.ImpactBegan
    | f.ImpactEnded
    | f.EventCompleted
)
EventFact: TypeAlias = f.EventScheduled | f.EventBornStarted | EventMoved

# (phase before, kind of fact) -> phase after. None is "not yet there". What is not listed cannot happen.
TRANSITIONS: dict[tuple[Phase | None, type[EventFact]], Phase] = {
    (None, f.EventScheduled): Phase.SCHEDULED,
    (None, f.EventBornStarted): Phase.STARTED,
    (Phase.SCHEDULED, f.EventAnnounced): Phase.SCHEDULED,
    (Phase.APPROVED, f.EventAnnounced): Phase.SCHEDULED,
    (Phase.SCHEDULED, f.EventApproved): Phase.APPROVED,
    (Phase.SCHEDULED, f.EventStarted): Phase.STARTED,
    (Phase.APPROVED, f.EventStarted): Phase.STARTED,
    (Phase.SCHEDULED, f.EventCanceled): Phase.CANCELED,
    (Phase.APPROVED, f.EventCanceled): Phase.CANCELED,
    (Phase.STARTED, f.ImpactBegan): Phase.STARTED,
    (Phase.STARTED, f.ImpactEnded): Phase.STARTED,
    (Phase.STARTED, f.EventCompleted): Phase.COMPLETED,
}


def phase_after(phase: Phase | None, kind: type[EventFact]) -> Phase:
    """The phase that a fact of this kind leads to. An impossible pair is a fault of ours, never of a caller."""
    try:
        return TRANSITIONS[phase, kind]
    except KeyError:
        raise AssertionError(f"{kind.__name__} cannot follow phase {phase}") from None


def event_after(before: Event | None, fact: EventFact) -> Event:
    """The event once ``fact`` has happened; ``before`` is None for the two facts that begin its life."""
    phase = phase_after(None if before is None else before.phase, type(fact))
    if isinstance(fact, f.EventScheduled):
        return replace(fact.event, phase=phase)
    if isinstance(fact, f.EventBornStarted):
        return replace(fact.event, phase=phase, started_at=fact.at)
    assert before is not None, "the table has no other way to begin"
    match fact:
        case f.EventAnnounced(recovery=recovery):
            return replace(before, phase=phase, announced=True, recovery=recovery, approved_at=None, approved_by="")
        case f.EventApproved(at=at, by=by):
            return replace(before, phase=phase, approved_at=at, approved_by=by)
        case f.EventStarted(at=at):
            return replace(before, phase=phase, started_at=at)
        case f.ImpactBegan(at=at, ends_at=ends_at):
            return replace(before, phase=phase, impact_began_at=at, impact_ends_at=ends_at)
        case f.ImpactEnded(at=at):
            return replace(before, phase=phase, impact_ended_at=at)
        case f.EventCanceled() | f.EventCompleted():
            return replace(before, phase=phase)
