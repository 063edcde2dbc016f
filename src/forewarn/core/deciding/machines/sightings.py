"""What engines say is there: facts only where something is not as it was, an errand is over, or something happened.

Listings come late, and may be wrong once. So one that was begun before the region knew better is not believed; a
machine that runs somewhere else, or is gone, is taken for moved or crashed only when the hosts where it could be have
said so; and where it seems to run twice, nothing is done to it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.deciding.events import bear_started, leave_host
from forewarn.core.deciding.machines import errands
from forewarn.core.deciding.machines.strays import end_of_strays, put_down
from forewarn.core.deciding.machines.stuck import could_be, decide_stuck
from forewarn.core.draft import Draft
from forewarn.core.folding.machines import CRASHES_WITHIN
from forewarn.core.looking.errands import current, hosts_of, is_satisfied
from forewarn.core.looking.turns import is_under_way
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import (
    PLACED,
    Errand,
    ErrandKind,
    MachinePower,
    RealMachine,
    SeenWhy,
    Sighting,
)
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import DOWN, HostHealth, RealHost, fold

DEFINITION_MOST = 64 * 1024  # characters; ours: a large domain's is a tenth of that
RESUMED_AFTER = timedelta(seconds=60)  # ours: who paused it by hand has that long to release it
_OFF = (MachinePower.OFF, MachinePower.GONE)
_OVER_WHEN_GONE = frozenset({ErrandKind.PAUSE, ErrandKind.STOP, ErrandKind.OFF, ErrandKind.DELETE})
_ON_THE_WAY = frozenset({ErrandKind.MIGRATE, ErrandKind.REDEPLOY})


def sight(draft: Draft, command: c.Sight) -> None:
    listing = command.listing
    host = draft.region.real_host(listing.host)
    if host is None or not host.takes_part or host.engine != command.engine:
        raise Refused(Hint.NOT_FOUND, f"Engine '{command.engine}' has no host named '{listing.host}' here.")
    seen_at = min(command.begun_at or draft.now, draft.now)
    if host.lost_at is not None and seen_at < host.lost_at:
        return
    if host.health is HostHealth.FENCED:
        put_down(draft, host, listing)
        return
    listed: set[str] = set()
    for seen in listing.machines:
        key = draft.region.refs.get((host.engine, seen.ref))
        if key is not None:
            listed.add(key)
            see(draft, key, seen, seen_at)
    if listing.complete:
        _miss(draft, host, listed, seen_at)
        end_of_strays(draft, host, listing)
        for key, seen in decide_stuck(draft, host, listing, seen_at):
            _follow(draft, key, seen)


def see(draft: Draft, key: str, seen: Sighting, seen_at: datetime, *, told: bool = False) -> None:
    """One machine was seen. News that are older than what is known are no news.

    ``told``: by who has just carried out its errand. That a listing lacks it shows only that it is not at one host.
    """
    machine = draft.region.machines[key]
    if seen_at < machine.seen_at:
        return
    due = current(draft.region, key)
    at_home = fold(seen.host) == fold(machine.host)
    believed = due is not None and not machine.doubled and due.errand.made_at <= seen_at
    believed = believed and (told or seen.power is not MachinePower.GONE)
    placed = due is not None and due.errand.kind in PLACED
    if at_home or (believed and placed):
        _define(draft, key, seen)
    if told and seen.power is MachinePower.GONE and (machine.loose or machine.also or seen.why is not SeenWhy.ASKED):
        believed = False  # it may be at another host still, also where it was not this call that has removed it
    if believed and (at_home or placed) and due is not None and is_satisfied(due.errand, seen, seen_at, told=told):
        _note(draft, key, seen, moved=not at_home, stood=_stood(due.errand, seen))
        errands.end(draft, due)
        if key in draft.region.machines:
            errands.alarm(draft, key)
        return
    if at_home:
        _at_home(draft, key, seen, seen_at)
    elif told and believed and seen.power is MachinePower.OFF and due is not None and _is_on_its_way(draft, key):
        if due.errand.kind is ErrandKind.MIGRATE:  # who has carried it there says that it is off there by now
            errands.give_up(draft, due, "it went off on the way")
            _follow(draft, key, seen)
    elif seen.power not in _OFF:
        _elsewhere(draft, key, seen)
    elif fold(seen.host) == fold(machine.also):
        _no_longer_there(draft, key)
    elif seen.power is not MachinePower.GONE and _is_all_that_is_left(draft, machine, seen):
        _follow(draft, key, seen)


def _define(draft: Draft, key: str, seen: Sighting) -> None:
    """Keep what its engine needs to make it again, if that is news."""
    known = draft.region.machines[key].definition
    if seen.definition and seen.definition != known and len(seen.definition) <= DEFINITION_MOST:
        draft.record(mf.MachineDefined(draft.now, key, seen.definition))


def _stood(errand: Errand, seen: Sighting) -> int:
    """Seconds, rounded up, for which a live migration stopped the machine; 0 where the engine has not measured it."""
    return -(-max(seen.stood_ms, 0) // 1000) if errand.kind is ErrandKind.MIGRATE else 0


def _note(draft: Draft, key: str, seen: Sighting, *, moved: bool = False, stood: int = 0) -> None:
    """Keep what was seen, if it is news."""
    machine = draft.region.machines[key]
    known = (machine.power, machine.ref, machine.boot_mark)
    told = (seen.power, seen.ref or machine.ref, seen.boot_mark or machine.boot_mark)
    why = machine.why if told == known else seen.why
    if moved or known != told or machine.why is not why or machine.absent:
        host = seen.host if moved else machine.host
        draft.record(mf.MachineSeen(draft.now, key, host, seen.power, seen.ref, seen.boot_mark, why, moved, stood))


# Where it is


def _at_home(draft: Draft, key: str, seen: Sighting, seen_at: datetime) -> None:
    machine = draft.region.machines[key]
    runs = seen.power is MachinePower.RUNNING
    if machine.also and runs and machine.also_at is not None and machine.also_at <= seen_at:
        _doubled(draft, key, machine)
    if machine.also and seen.power in _OFF and not _is_on_its_way(draft, key, machine.also):
        _follow(draft, key, Sighting(machine.ref, machine.also, MachinePower.RUNNING))
        return
    if seen.power is MachinePower.GONE:
        _missed(draft, key, machine.host)
        return
    _note(draft, key, seen)
    if not draft.region.machines[key].doubled:
        _by_itself(draft, key, seen)


def _elsewhere(draft: Draft, key: str, seen: Sighting) -> None:
    """Decide about a machine that runs at another host than the region says."""
    machine, due = draft.region.machines[key], current(draft.region, key)
    there = due is not None and fold(due.errand.to) == fold(seen.host)
    moved = due is not None and (not there or seen.boot_mark == due.errand.boot_mark)
    if due is not None and due.errand.source_off and moved:
        errands.give_up(draft, due, f"it had come to {seen.host} before its host was lost")
        _follow(draft, key, seen)
    elif _is_on_its_way(draft, key):
        if due is not None and there and due.errand.kind is ErrandKind.MIGRATE:
            if seen.boot_mark == due.errand.boot_mark:
                return  # it has arrived, and is about to go on; or this was listed before the errand was made
            errands.give_up(draft, due, "it restarted on the way")
            _follow(draft, key, seen)
        elif fold(machine.also) != fold(seen.host):
            draft.record(mf.MachineSeen(draft.now, key, seen.host, seen.power))
    elif machine.power in _OFF:
        _follow(draft, key, seen)
    elif fold(machine.also) != fold(seen.host):
        draft.record(mf.MachineSeen(draft.now, key, seen.host, seen.power))


def _is_on_its_way(draft: Draft, key: str, to: str = "") -> bool:
    """Whether a move of the machine was begun; and to that host, if one is named."""
    due = current(draft.region, key)
    moves = due is not None and due.errand.kind in _ON_THE_WAY and due.tried_at is not None
    return due is not None and moves and fold(to) in ("", fold(due.errand.to))


def _follow(draft: Draft, key: str, seen: Sighting) -> None:
    """Take over the host and power of a machine that was moved or started by hand."""
    _note(draft, key, seen, moved=True)
    errands.alarm(draft, key)
    vm, host = draft.region.vms[key], draft.region.real_host(seen.host)
    assert host is not None, "only hosts of the region list machines"
    runs, due = seen.power is MachinePower.RUNNING, current(draft.region, key)
    if runs and due is not None and due.errand.kind is ErrandKind.START:
        errands.give_up(draft, due, f"it runs at {host.name}")  # somebody has started it there
    if vm.power in DOWN and runs:
        draft.record(f.VmStarted(draft.now, key, host.number))
    elif vm.host not in (None, host.number):
        draft.record(f.VmMoved(draft.now, key, host.number))
    leave_host(draft, key)
    if not runs:
        _by_itself(draft, key, seen)


def _doubled(draft: Draft, key: str, machine: RealMachine) -> None:
    if not machine.doubled:
        draft.record(mf.MachineDoubled(draft.now, key, machine.also))
        errands.alarm(
            draft, key, f"runs at {machine.host} and at {machine.also}: turn one of them off, nothing is done"
        )


def _no_longer_there(draft: Draft, key: str) -> None:
    doubled = draft.region.machines[key].doubled
    draft.record(mf.MachineDoubled(draft.now, key))
    if doubled:
        errands.alarm(draft, key)


# What happened by itself


def _by_itself(draft: Draft, key: str, seen: Sighting) -> None:
    """Nothing was asked for, or what was asked for has lost its object."""
    vm, machine, due = draft.region.vms[key], draft.region.machines[key], current(draft.region, key)
    if due is not None:
        if seen.power is MachinePower.OFF and due.errand.kind in (ErrandKind.PAUSE, ErrandKind.MIGRATE):
            errands.give_up(draft, due, "it went off meanwhile")
            _by_itself(draft, key, seen)
        elif seen.power is not MachinePower.OFF and due.errand.kind is ErrandKind.START:
            errands.give_up(draft, due, f"it runs at {machine.host}")  # somebody has started it there
            _by_itself(draft, key, seen)
        return
    if seen.power is MachinePower.RUNNING:
        if vm.power in DOWN:
            host = draft.region.real_host(machine.host)
            assert host is not None
            draft.record(f.VmStarted(draft.now, key, host.number))
            leave_host(draft, key)
        errands.alarm(draft, key)
    elif seen.power is MachinePower.PAUSED:
        _paused(draft, key, machine)
    elif vm.power not in DOWN:
        if machine.why in (SeenWhy.GUEST, SeenWhy.ASKED):
            draft.record(f.VmStopped(draft.now, key))
        else:
            _crashed(draft, key)


def _paused(draft: Draft, key: str, machine: RealMachine) -> None:
    """A machine is paused without an errand: it gets an alarm, and is resumed after ``RESUMED_AFTER``.

    One that an error has paused is only given the alarm.
    """
    if machine.why is SeenWhy.CRASH:
        errands.alarm(draft, key, "is paused by an error of its disk or its host: it is left so")
        return
    errands.alarm(draft, key, "is paused, and nobody asked for that: it goes on in a minute")
    vm, until = draft.region.vms[key], draft.now + RESUMED_AFTER
    errands.make(draft, vm, ErrandKind.PAUSE, errands.new_seed(draft, vm), until=until, tried=True)


def _crashed(draft: Draft, key: str) -> None:
    """Start a crashed machine again at once; after too many crashes in a short time leave it off."""
    vm, machine = draft.region.vms[key], draft.region.machines[key]
    recent = [each for each in machine.crashes if draft.now - each < CRASHES_WITHIN]
    if len(recent) >= draft.rules.crash_restarts:
        minutes = CRASHES_WITHIN // timedelta(minutes=1)
        errands.alarm(draft, key, f"has crashed {len(recent) + 1} times in {minutes} minutes: it stays off")
        draft.record(f.VmStopped(draft.now, key))
        return
    seed = errands.new_seed(draft, vm)
    in_hand = [each for each in map(draft.region.events.__getitem__, vm.events) if is_under_way(each)]
    if in_hand:  # what it is going through is not over before it runs again
        errands.make(draft, vm, ErrandKind.RESTART, seed, event=in_hand[-1].id, crashed=True)
    else:
        bear_started(draft, Cause.CRASH, vm, seed)


# What is not there


def _miss(draft: Draft, host: RealHost, listed: set[str], seen_at: datetime) -> None:
    """A complete listing: what is not in it is not at that host."""
    astray = (key for key in draft.region.astray if key not in host.vms)
    for key in sorted((*host.vms, *astray)):
        machine = draft.region.machines.get(key)
        if machine is None or key in listed or not machine.ref or machine.engine != host.engine:
            continue
        if fold(machine.also) == fold(host.name):
            _no_longer_there(draft, key)
        elif fold(machine.host) == fold(host.name):
            see(draft, key, Sighting(machine.ref, host.name, MachinePower.GONE), seen_at)
        elif machine.absent and seen_at >= machine.seen_at:
            _missed(draft, key, host.name)
        elif host.name in machine.loose and seen_at >= machine.seen_at and not _is_on_its_way(draft, key):
            draft.record(mf.MachineCleared(draft.now, key, host.name))


def _missed(draft: Draft, key: str, host: str) -> None:
    """A machine was not found at that host. It counts as gone when no other host could have it."""
    machine, due = draft.region.machines[key], current(draft.region, key)
    if due is not None and due.errand.kind not in _OVER_WHEN_GONE:
        if due.stuck_at is not None and host not in machine.absent:  # what follows depends on where it is
            draft.record(mf.MachineSeen(draft.now, key, host, MachinePower.GONE))
        return  # it is part of what is being done, or that will find out
    if host not in machine.absent:
        draft.record(mf.MachineSeen(draft.now, key, host, MachinePower.GONE))
    machine = draft.region.machines[key]
    deleted = due is not None and due.errand.kind is ErrandKind.DELETE
    if could_be(draft, machine, deleted=deleted):
        if deleted:
            _say_where(draft, key, machine)
        return
    if due is not None and due.errand.kind is not ErrandKind.PAUSE:
        errands.end(draft, due)
        return
    if due is not None:
        errands.give_up(draft, due, "it is gone")
    if draft.region.vms[key].power in DOWN:
        errands.alarm(draft, key, "is gone from its engine: delete the VM, or bring the machine back")
    elif current(draft.region, key) is None:
        _crashed(draft, key)


def _say_where(draft: Draft, key: str, machine: RealMachine) -> None:
    """A deletion waits for a host that was lost: only when it is back can what is left there be removed."""
    lost = [each.name for each in hosts_of(draft.region, machine.engine) if each.health is HostHealth.FENCED]
    waits = [name for name in lost if name not in machine.absent]
    if waits:
        names = " and ".join(waits)
        errands.alarm(
            draft, key, f"is deleted but for what is left at {names}, if anything: bring that host back, or remove it"
        )


def _is_all_that_is_left(draft: Draft, machine: RealMachine, seen: Sighting) -> bool:
    """Whether what was seen is all that is left of a machine: no other host could have it."""
    return bool(machine.absent) and not could_be(draft, machine, other_than=seen.host)
