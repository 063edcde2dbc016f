"""What a hand tells of an errand: that it is about to try it, and what became of that."""

from __future__ import annotations

import re

from forewarn.core import commands as c
from forewarn.core.deciding.impacts import begin_real
from forewarn.core.deciding.machines import errands, hosts
from forewarn.core.deciding.machines.sightings import see
from forewarn.core.deciding.machines.stuck import look_first
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import is_due, is_satisfied
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, ErrandOutcome, ErrandReport, MachinePower, OpenErrand, RealMachine
from forewarn.core.refusal import Hint, Refused

_NUMBERS = re.compile(r"\b[0-9a-f]{8,}\b|\d+")
_FOR_EVER = frozenset({ErrandKind.STOP, ErrandKind.OFF, ErrandKind.DELETE})


def try_errand(draft: Draft, command: c.TryErrand) -> None:
    """The first try is kept: from then on the engine may have done something. Refused while it is not due."""
    found = draft.region.errands.get(command.errand_id)
    if found is None or not is_due(draft.region, found):
        raise Refused(Hint.CONFLICT, f"Errand {command.errand_id} is over, or its turn has not come.")
    if found.tried_at is not None:
        return
    errand = found.errand
    draft.record(
        mf.ErrandTried(draft.now, errand.id, errands.subject_of(draft, errand), errand.kind, errand.vm),
    )
    event = draft.region.events.get(errand.event)
    if event is not None:
        begin_real(draft, event)


def report(draft: Draft, command: c.ReportErrand) -> None:
    """Late news of an errand that is over, or whose turn has not come, change nothing."""
    found, told = draft.region.errands.get(command.errand_id), command.report
    if found is None or not is_due(draft.region, found):
        return
    if not found.errand.vm:
        _of_host(draft, found, told)
        return
    if told.sighting is not None:
        see(draft, found.errand.vm, told.sighting, draft.now, told=True)
        found = draft.region.errands.get(command.errand_id)
        if found is None:  # what was seen has ended it
            return
    if errands.is_overdue(draft, found) and found.errand.kind in errands.GIVEN_UP_LATE:
        errands.overdue(draft, found, told.why)
    elif told.outcome is ErrandOutcome.FAILED and told.lasting:
        _cannot(draft, found, told.why)
    elif errands.is_overdue(draft, found):
        _insist(draft, found, told.why)
    elif told.outcome is not ErrandOutcome.NOT_YET:
        hinder(draft, found, told.why or "what was wanted has not been seen")


def _of_host(draft: Draft, found: OpenErrand, told: ErrandReport) -> None:
    errand = found.errand
    if errand.kind is ErrandKind.FENCE:
        if told.outcome is ErrandOutcome.DONE:
            errands.end(draft, found)
            hosts.lose(draft, errand.host, errand.id)
        elif told.outcome is ErrandOutcome.FAILED and told.lasting:
            errands.give_up(draft, found, told.why)
        else:
            hinder(draft, found, told.why)
    elif told.sighting is not None and is_satisfied(errand, told.sighting, draft.now, told=True):
        errands.end(draft, found)
    else:
        hinder(draft, found, told.why)


def gist(sentence: str) -> str:
    """A sentence without what differs from try to try: instants, counts, ids."""
    return _NUMBERS.sub("#", sentence)


def hinder(draft: Draft, found: OpenErrand, why: str) -> None:
    """Note why an errand could not be done; it stays open, to be tried again. The same reason is noted once."""
    errand = found.errand
    if gist(why) != gist(found.why):
        subject = errands.subject_of(draft, errand)
        draft.record(mf.ErrandHindered(draft.now, errand.id, subject, errand.kind, errand.vm, why))


def _cannot(draft: Draft, found: OpenErrand, why: str) -> None:
    """The engine says that asking again cannot help. What happens then depends on what has been broken already."""
    kind, machine = found.errand.kind, draft.region.machines[found.errand.vm]
    if kind in (ErrandKind.RESTART, ErrandKind.REDEPLOY, ErrandKind.REIMAGE):
        look_first(draft, found, why)
    elif kind in _FOR_EVER or not _may_be_left(found, machine):
        _insist(draft, found, why)
    else:
        errands.give_up(draft, found, why)


def _may_be_left(found: OpenErrand, machine: RealMachine) -> bool:
    """A pause must be ended; the rest can be left as it is."""
    return found.errand.kind is not ErrandKind.PAUSE or machine.power is not MachinePower.PAUSED


def _insist(draft: Draft, found: OpenErrand, why: str) -> None:
    """Keep the errand, so that it is tried again, and alarm people once for each reason."""
    hinder(draft, found, why)
    alarm = f"{found.errand.kind.value} does not work: {why}"
    if gist(alarm) != gist(draft.region.machines[found.errand.vm].alarm):
        errands.alarm(draft, found.errand.vm, alarm)
