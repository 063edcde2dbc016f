"""The life of an event, as a table. ``docs/lifecycle.md`` draws its diagram from here."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """Where an event is. A document shows the first two as Scheduled, the third as Started, the rest not at all."""

    SCHEDULED = "scheduled"
    APPROVED = "approved"
    STARTED = "started"
    COMPLETED = "completed"
    CANCELED = "canceled"


PENDING = frozenset({Phase.SCHEDULED, Phase.APPROVED})
ENDED = frozenset({Phase.COMPLETED, Phase.CANCELED})

# (phase before, fact) -> phase after. None is "not yet there". What is not listed cannot happen.
TRANSITIONS: dict[tuple[Phase | None, str], Phase] = {
    (None, "EventScheduled"): Phase.SCHEDULED,
    (None, "EventBornStarted"): Phase.STARTED,
    (Phase.SCHEDULED, "EventAnnounced"): Phase.SCHEDULED,
    (Phase.APPROVED, "EventAnnounced"): Phase.SCHEDULED,
    (Phase.SCHEDULED, "EventApproved"): Phase.APPROVED,
    (Phase.SCHEDULED, "EventStarted"): Phase.STARTED,
    (Phase.APPROVED, "EventStarted"): Phase.STARTED,
    (Phase.SCHEDULED, "EventCanceled"): Phase.CANCELED,
    (Phase.APPROVED, "EventCanceled"): Phase.CANCELED,
    (Phase.STARTED, "ImpactBegan"): Phase.STARTED,
    (Phase.STARTED, "ImpactEnded"): Phase.STARTED,
    (Phase.STARTED, "EventCompleted"): Phase.COMPLETED,
}


def after(phase: Phase | None, fact: str) -> Phase:
    """The phase that ``fact`` leads to. An impossible pair is a fault of ours, never of a caller."""
    try:
        return TRANSITIONS[phase, fact]
    except KeyError:
        raise AssertionError(f"{fact} cannot follow phase {phase}") from None
