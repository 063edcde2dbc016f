"""What a hand tells of an errand: that it is about to try it, and what became of that."""

from __future__ import annotations

from forewarn.core import commands as c
from forewarn.core.deciding.impacts import begin_real
from forewarn.core.deciding.machines import errands, hosts
from forewarn.core.deciding.machines.sightings import see
from forewarn.core.deciding.placement import find_target
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import is_due, is_satisfied
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, ErrandOutcome, ErrandReport, MachinePower, OpenErrand, RealMachine
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import fold

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
    if told.outcome is ErrandOutcome.FAILED and told.lasting:
        _cannot(draft, found, told.why)
    else:
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
    elif told.sighting is not None and is_satisfied(errand, told.sighting, draft.now):
        errands.end(draft, found)
    else:
        hinder(draft, found, told.why)


def hinder(draft: Draft, found: OpenErrand, why: str) -> None:
    """It is tried again. Each sentence is kept once, not each try."""
    errand = found.errand
    if why != found.why:
        subject = errands.subject_of(draft, errand)
        draft.record(mf.ErrandHindered(draft.now, errand.id, subject, errand.kind, errand.vm, why))


def _cannot(draft: Draft, found: OpenErrand, why: str) -> None:
    """The engine says that asking again cannot help. What happens then depends on what has been broken already."""
    kind, machine = found.errand.kind, draft.region.machines[found.errand.vm]
    if kind is ErrandKind.RESTART:
        _elsewhere(draft, found, why)
    elif kind is ErrandKind.REDEPLOY and not _is_untouched(found, machine):
        _another_host(draft, found, why)
    elif kind in _FOR_EVER or not _may_be_left(found, machine):
        _insist(draft, found, why)
    else:
        errands.give_up(draft, found, why)


def _is_untouched(found: OpenErrand, machine: RealMachine) -> bool:
    """Whether the machine still runs where it was, as it was."""
    there = fold(machine.host) == fold(found.errand.host) and machine.boot_mark == found.errand.boot_mark
    return there and machine.power is MachinePower.RUNNING and not found.errand.source_off


def _may_be_left(found: OpenErrand, machine: RealMachine) -> bool:
    """A pause must be ended, and a machine whose disk was to be new must run again; the rest can be left as it is."""
    if found.errand.kind is ErrandKind.PAUSE:
        return machine.power is not MachinePower.PAUSED
    return found.errand.kind is not ErrandKind.REIMAGE or _is_untouched(found, machine)


def _insist(draft: Draft, found: OpenErrand, why: str) -> None:
    """It is tried for ever, and somebody should know."""
    hinder(draft, found, why)
    errands.alarm(draft, found.errand.vm, f"{found.errand.kind.value} does not work: {why}")


def _elsewhere(draft: Draft, found: OpenErrand, why: str) -> None:
    """It cannot be started where it is: it is redeployed to another host, if there is one."""
    vm, errand = draft.region.vms[found.errand.vm], found.errand
    target = find_target(draft.region, vm, ErrandKind.REDEPLOY)
    if target is None or fold(target.name) == fold(errand.host):
        _insist(draft, found, why)
        return
    errands.make(draft, vm, ErrandKind.REDEPLOY, errand.id, event=errand.event, to=target.name)
    errands.give_up(draft, found, why)


def _another_host(draft: Draft, found: OpenErrand, why: str) -> None:
    """The source is off and the target cannot take it: any other host, then the source, then from the beginning."""
    hinder(draft, found, why)
    vm, errand = draft.region.vms[found.errand.vm], found.errand
    target = find_target(draft.region, vm, errand.kind, (*found.turned_down, errand.to))
    source = draft.region.real_host(errand.host)
    if target is not None:
        errands.place(draft, found, target.name)
    elif source is not None and source.is_healthy and fold(errand.to) != fold(source.name):
        errands.place(draft, found, source.name)
    _insist(draft, draft.region.errands[errand.id], why)
