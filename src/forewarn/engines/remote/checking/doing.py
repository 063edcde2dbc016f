"""The rules that are tried on a machine, which the person has named for it."""

from __future__ import annotations

import time
from contextlib import suppress

from forewarn.core.machines.values import ErrandKind, Sighting
from forewarn.engines.remote import messages
from forewarn.engines.remote.checking.ground import (
    OFF,
    PAUSE_SECONDS,
    PAUSED,
    RUNNING,
    Broken,
    CheckGround,
    CheckPermit,
    MachineToTry,
    NotTried,
    Rule,
    expect,
)
from forewarn.plane.hands.engine import EngineFault, NotYet

DONE_BY = {
    ErrandKind.PAUSE: f"pause it for {PAUSE_SECONDS:g} s",
    ErrandKind.RESTART: "restart it, once",
    ErrandKind.STOP: "stop it, and start it again",
    ErrandKind.MIGRATE: "migrate it to another host, and back",
}


def plan(machine: MachineToTry) -> list[str]:
    """What will be done to it, before anything is."""
    return [words for kind, words in DONE_BY.items() if kind in machine.kinds]


def _named(ground: CheckGround, *kinds: ErrandKind) -> tuple[MachineToTry, Sighting]:
    """The machine, running, if this may be done to it."""
    if ground.machine is None:
        raise NotTried("no machine was named for it (--machine)")
    for kind in kinds:
        if kind not in ground.known.kinds:
            raise NotTried(f"it cannot {kind} machines")
    if kinds and kinds[0] not in ground.machine.kinds:
        raise NotTried(f"it was not asked for (--do {kinds[0]})")
    if ground.machine.host not in ground.known.hosts:
        raise NotTried(f"it has no host {ground.machine.host}")
    seen = ground.seen(ground.machine)
    if seen.power is not RUNNING:
        raise NotTried(f"{seen.ref} is {seen.power}, and not running")
    return ground.machine, seen


def _unchanged(ground: CheckGround, machine: MachineToTry, before: Sighting, what: str) -> None:
    now = ground.seen(machine)
    if (now.host, now.power, now.boot_mark) != (before.host, before.power, before.boot_mark):
        raise Broken(f"{what} changed the machine: it was {before.power} at {before.host}, and is {now.power}")


def _first_kind(ground: CheckGround) -> ErrandKind:
    machine = ground.machine
    found = [kind for kind in DONE_BY if machine is not None and kind in machine.kinds and kind in ground.known.kinds]
    if not found:
        raise NotTried("nothing may be done to a machine (--machine, --do)")
    return found[0]


def _waits_for_leave(ground: CheckGround) -> None:
    machine, before = _named(ground)
    for kind in [kind for kind in DONE_BY if kind in machine.kinds and kind in ground.known.kinds]:
        to = next((host for host in ground.known.hosts if host != before.host), "")
        if kind is ErrandKind.MIGRATE and not to:
            continue
        errand = ground.errand(kind, before, to=to if kind is ErrandKind.MIGRATE else "")
        answer = ground.put(errand, left=30.0)
        ground.engine.abandon(errand)
        expect(answer, f"to {kind} without leave", 202)
        if not messages.understood(answer.body, messages.TakenAnswer, "answer").asks:
            raise Broken(f"to {kind} without leave is to be answered by 'asks', and was not")
        _unchanged(ground, machine, before, f"to {kind} without leave")


def _takes_only_its_own_leave(ground: CheckGround) -> None:
    machine, before = _named(ground)
    errand = ground.errand(_first_kind(ground), before, to=ground.known.hosts[-1])
    answer = ground.put(errand, leave="forewarn-check: something else", left=30.0)
    ground.engine.abandon(errand)
    expect(answer, "a leave for something else", 202)
    if not messages.understood(answer.body, messages.TakenAnswer, "answer").asks:
        raise Broken("a leave for something else was taken")
    _unchanged(ground, machine, before, "a leave for something else")


def _pauses(ground: CheckGround) -> None:
    machine, before = _named(ground, ErrandKind.PAUSE)
    errand = ground.errand(ErrandKind.PAUSE, before)
    permit = CheckPermit(ends=time.monotonic() + ground.pause_seconds)
    try:
        result = ground.engine.carry_out(errand, permit)
        if not isinstance(result, NotYet) or ground.seen(machine).power is not PAUSED:
            raise Broken(f"the machine was not paused: {getattr(result, 'why', result)}")
        permit.again = True
        after = ground.carry_through(errand, permit)
    finally:
        with suppress(EngineFault):
            ground.engine.abandon(errand)
    if permit.left() > 0:
        raise Broken("the pause ended before its time")
    if after.boot_mark != before.boot_mark or ground.seen(machine).boot_mark != before.boot_mark:
        raise Broken("after the pause it has another boot mark")


def _begins_no_pause_again(ground: CheckGround) -> None:
    machine, before = _named(ground, ErrandKind.PAUSE)
    errand = ground.errand(ErrandKind.PAUSE, before)
    try:
        ground.engine.carry_out(errand, CheckPermit(again=True, ends=time.monotonic() + 30))
        _unchanged(ground, machine, before, "a pause that was asked for before ('again')")
    finally:
        with suppress(EngineFault):
            ground.engine.abandon(errand)


def _restarts_once(ground: CheckGround) -> None:
    machine, before = _named(ground, ErrandKind.RESTART)
    errand = ground.errand(ErrandKind.RESTART, before)
    asked = messages.understood(ground.put(errand).body, messages.TakenAnswer, "answer").asks
    first = ground.carry_through(errand)
    if first.boot_mark == before.boot_mark:
        raise Broken("it says that the machine was restarted, and its boot mark is the same")
    for what, leave in (("asking for it again", ""), ("the same leave once more", asked)):
        answer = ground.put(errand, leave=leave, again=True)
        expect(answer, f"{what}, after it was done,", 200)
        if ground.seen(machine).boot_mark != first.boot_mark:
            raise Broken(f"{what} restarted it a second time")


def _stops_and_starts(ground: CheckGround) -> None:
    machine, before = _named(ground, ErrandKind.STOP, ErrandKind.START)
    stop = ground.errand(ErrandKind.STOP, before)
    try:
        stopped = ground.carry_through(stop)
        if stopped.power is not OFF or ground.seen(machine).power is not OFF:
            raise Broken("it says that the machine was stopped, and it is not off")
        ground.carry_through(stop)
    finally:
        started = ground.carry_through(ground.errand(ErrandKind.START, before))
    if started.power is not RUNNING or ground.seen(machine).power is not RUNNING:
        raise Broken("it says that the machine was started, and it does not run")
    if started.boot_mark == before.boot_mark:
        raise Broken("it was stopped and started, and has the same boot mark")


def _migrates(ground: CheckGround) -> None:
    machine, before = _named(ground, ErrandKind.MIGRATE)
    there = next((host for host in ground.known.hosts if host != before.host), "")
    if not there:
        raise NotTried("it has one host only")
    for to in (there, before.host):
        here = ground.seen(machine)
        after = ground.carry_through(ground.errand(ErrandKind.MIGRATE, here, to=to))
        if after.host != to or ground.seen(machine).host != to:
            raise Broken(f"it says that the machine was moved, and it is not at {to}")
        if after.boot_mark != before.boot_mark:
            raise Broken("it was moved alive, and has another boot mark")
        if [each for each in ground.engine.listing(here.host).machines if each.ref == machine.ref]:
            raise Broken(f"it is at {to}, and still listed at {here.host}")


DOING: tuple[Rule, ...] = (
    ("Without leave nothing is touched", _waits_for_leave),
    ("A leave for something else is not taken", _takes_only_its_own_leave),
    ("A pause lasts until its end, and keeps the memory", _pauses),
    ("A pause that was asked for before is not begun", _begins_no_pause_again),
    ("A restart gives another boot mark, and is done once", _restarts_once),
    ("A machine is stopped, and started again", _stops_and_starts),
    ("A migration keeps the memory, and leaves nothing behind", _migrates),
)
