"""What came of a request, from the facts that it made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.region import Event, fold
from forewarn.web.operator.desk import Look
from forewarn.web.operator.fleet_models import OutcomeAnswer
from forewarn.web.operator.views import event_fields, vm_names

NOBODY_READS = "nobody in the scope reads scheduled events"


@dataclass(frozen=True)
class Deed:
    """What was asked for: which causes it works by, and how to tell that it was done without an event."""

    done: str
    why: str
    causes: Collection[Cause] = ()


@dataclass(frozen=True)
class _Made:
    """The events of a request, by what becomes of them."""

    announced: Sequence[Event]
    silent: Sequence[Event]  # done now, nobody is told
    untold: Sequence[Event]  # wait together with announced ones, nobody is told


def outcome_of(look: Look, facts: Sequence[f.Fact], deed: Deed, names: Collection[str] = ()) -> OutcomeAnswer:
    """``facts`` may hold more than the request's own doing, for whatever was due came with it: that is left out."""
    made = _made(facts, deed)
    keys = {fold(name) for name in names}
    touched = [key for event in made.silent for key in event.vms] + [key for key in _direct(facts) if key in keys]
    at_once = _names(look, facts, touched)
    return OutcomeAnswer(
        events=[event_fields(look, look.region.events.get(event.id, event)) for event in made.announced],
        at_once=at_once,
        message=_message(made, at_once, deed),
    )


def _made(facts: Sequence[f.Fact], deed: Deed) -> _Made:
    born = [fact.event for fact in facts if isinstance(fact, f.EventBornStarted)]
    scheduled = [fact.event for fact in facts if isinstance(fact, f.EventScheduled)]
    own = {event.id for event in (*born, *scheduled) if event.cause in deed.causes and not event.campaign}
    return _Made(
        announced=[event for event in (*scheduled, *born) if event.id in own and event.announced],
        silent=[event for event in born if event.id in own and not event.announced],
        untold=[event for event in scheduled if event.id in own and not event.announced],
    )


def _direct(facts: Sequence[f.Fact]) -> list[str]:
    return [fact.vm for fact in facts if isinstance(fact, f.VmDeleted | f.VmDeallocated | f.VmStarted)]


def _names(look: Look, facts: Sequence[f.Fact], keys: Sequence[str]) -> list[str]:
    return vm_names(look.region, list(dict.fromkeys(keys)))


def _message(made: _Made, at_once: Sequence[str], deed: Deed) -> str:
    told = []
    waiting = [event for event in made.announced if event.started_at is None]
    if waiting:
        earliest = min(event.not_before for event in waiting)
        told.append(f"{count(len(waiting), 'event')} scheduled, not before {earliest:%Y-%m-%dT%H:%M:%SZ}.")
    if len(made.announced) > len(waiting):
        told.append(f"{count(len(made.announced) - len(waiting), 'event')} started at once.")
    if at_once:
        reason = f": {deed.why}" if deed.why else ""
        told.append(f"{_who(at_once)} {deed.done} at once, without an event{reason}.")
    if made.untold:
        untold = sum(len(event.vms) for event in made.untold)
        told.append(f"{count(untold, 'other VM')} on the same hosts will not be told: {NOBODY_READS}.")
    return " ".join(told) or "Nothing had to be done."


def _who(names: Sequence[str]) -> str:
    return f"{names[0]} was" if len(names) == 1 else f"{len(names)} VMs were"


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
