"""What an engine has refused for good: the next listings say where the machine is, and from that it is decided.

It may run where it was, be off by now, run where it was to be after a call that hung, or be nowhere any more.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from forewarn.core.deciding.machines import errands
from forewarn.core.deciding.placement import find_target
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import hosts_of
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, Listing, MachinePower, OpenErrand, RealMachine, Sighting
from forewarn.core.region import HostHealth, RealHost, fold

_AT_ONCE, _REST_MOST = 4, timedelta(minutes=10)  # ours: refusals one after the other; and the longest rest then
_REST_OF_RESTARTS = timedelta(minutes=1)  # ours: they are given up when their patience is over, not much later
_OFF = (MachinePower.OFF, MachinePower.GONE)


def look_first(draft: Draft, found: OpenErrand, why: str) -> None:
    """Put off an errand that was refused for good: nothing is tried until its hosts have been listed."""
    errand = found.errand
    subject = errands.subject_of(draft, errand)
    draft.record(mf.ErrandHindered(draft.now, errand.id, subject, errand.kind, errand.vm, why, stuck=True))
    errands.alarm(draft, errand.vm, f"{errand.kind.value} does not work: {why}")


def could_be(draft: Draft, machine: RealMachine, *, other_than: str = "", deleted: bool = False) -> bool:
    """Whether there is a host that has not said that it does not have it. On one that is off, nothing runs; but what
    is deleted must not be left there either."""
    hosts = [each for each in hosts_of(draft.region, machine.engine) if fold(each.name) != fold(other_than)]
    asked = [each for each in hosts if each.health is not HostHealth.FENCED or deleted]
    return any(each.name not in machine.absent for each in asked)


def decide_stuck(draft: Draft, host: RealHost, listing: Listing, seen_at: datetime) -> list[tuple[str, Sighting]]:
    """Decide what follows from a listing for errands that were refused for good.

    Returns the machines that turned out to be somewhere else, for the region to follow them there.
    """
    seen, followed = {each.ref: each for each in listing.machines}, []
    stuck = [each for each in draft.region.errands.values() if each.stuck_at is not None]
    stuck = [each for each in stuck if each.stuck_at is not None and each.stuck_at + _rest_of(each) <= seen_at]
    for found in sorted(stuck, key=lambda each: each.errand.id):
        errand, machine = found.errand, draft.region.machines[found.errand.vm]
        there = seen.get(errand.ref)
        if errand.kind is ErrandKind.RESTART:
            _decide_restart(draft, found, host, there)
        elif _has_been_taken_there(found, machine, host, there) and there is not None:
            errands.give_up(draft, found, found.why)
            followed.append((errand.vm, there))
        else:
            _decide_move(draft, found, host, there)
    return followed


def _decide_move(draft: Draft, found: OpenErrand, host: RealHost, there: Sighting | None) -> None:
    errand = found.errand
    runs = there is not None and there.power not in _OFF
    at_source, at_target = (fold(name) == fold(host.name) for name in (errand.host, errand.to or errand.host))
    if at_source and runs:
        errands.give_up(draft, found, found.why)  # it is where it was
        errands.alarm(draft, errand.vm)
    elif at_target and not runs and draft.region.machines[errand.vm].power in _OFF:
        _go_elsewhere(draft, found)


def _has_been_taken_there(found: OpenErrand, machine: RealMachine, host: RealHost, there: Sighting | None) -> bool:
    """Whether somebody has moved the machine to the target of its errand: it runs there, and is gone from its host."""
    errand = found.errand
    if there is None or there.power in _OFF or fold(host.name) == fold(machine.host):
        return False
    ours = there.boot_mark != errand.boot_mark or there.errand == errand.id
    return fold(errand.to) == fold(host.name) and machine.power is MachinePower.GONE and not ours


def _decide_restart(draft: Draft, found: OpenErrand, host: RealHost, there: Sighting | None) -> None:
    """Replace a restart that cannot be done by a redeployment: to another host, or where it was if it is nowhere."""
    vm, machine, errand = draft.region.vms[found.errand.vm], draft.region.machines[found.errand.vm], found.errand
    home = draft.region.real_host(machine.host)
    at_home = home is not None and home.number == host.number
    if errands.is_overdue(draft, found):
        errands.overdue(draft, found, found.why)
        return
    if at_home and there is not None:
        target = find_target(draft.region, vm, ErrandKind.REDEPLOY)
        target = None if target == home else target
    elif machine.power is MachinePower.GONE and not could_be(draft, machine):
        there_again = home is not None and home.is_healthy and home.can(ErrandKind.REDEPLOY)
        target = home if there_again else find_target(draft.region, vm, ErrandKind.REDEPLOY)
    else:
        return
    if target is None:
        errands.place(draft, found, "")  # it is tried again
    else:
        errands.make(draft, vm, ErrandKind.REDEPLOY, errand.id, event=errand.event, to=target.name)
        errands.give_up(draft, found, found.why)


def _rest_of(found: OpenErrand) -> timedelta:
    """How long nothing is tried: longer each time, once the first hosts have refused."""
    tenths = max(found.tries - _AT_ONCE, 0)
    most = _REST_OF_RESTARTS if found.errand.kind is ErrandKind.RESTART else _REST_MOST
    return min(timedelta(seconds=10) * (2**tenths - 1), most) if tenths < 10 else most


def _go_elsewhere(draft: Draft, found: OpenErrand) -> None:
    """Place an errand again whose machine runs neither at its source nor at its target.

    Tried in this order: a host that did not refuse it yet, the source, then also those that did.
    """
    errand = found.errand
    if errand.kind is not ErrandKind.REDEPLOY:
        errands.place(draft, found, errand.to)
        return
    vm, source = draft.region.vms[errand.vm], draft.region.real_host(errand.host)
    target = find_target(draft.region, vm, errand.kind, (*found.turned_down, errand.to))
    if target is None and source is not None and source.answers and fold(source.name) != fold(errand.to):
        target = source
    target = target or find_target(draft.region, vm, errand.kind, (errand.to,))
    errands.place(draft, found, errand.to if target is None else target.name)
