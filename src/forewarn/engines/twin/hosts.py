"""Hosts and the machines on them, in memory, behind calls that may fail in every way in which real ones do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from forewarn.core.machines.values import MachinePower, SeenWhy

CALL_SECONDS = 30.0  # the deadline of one call; as ``call_timeout``
RUNNING, PAUSED, OFF, GONE = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF, MachinePower.GONE


class TwinCall(StrEnum):
    """What may be asked of a host. Each but the first two changes one machine."""

    LIST = "list"
    LOOK = "look"  # at one machine
    CREATE = "create"
    START = "start"
    STOP = "stop"
    RESTART = "restart"
    PAUSE = "pause"
    RESUME = "resume"
    MIGRATE = "migrate"
    REMOVE = "remove"


class TwinMishap(StrEnum):
    """What may go wrong with one call."""

    REFUSED = "refused"  # in the platform's own words, for good
    FAILED = "failed"  # this time
    HANGS = "hangs"  # nothing is done, and no answer comes
    LOST = "lost"  # done, and the answer does not arrive
    HANGS_DONE = "hangs done"  # done, and no answer comes
    SLOW = "slow"  # done after a while
    FORGOTTEN = "forgotten"  # answered as done, and not done
    INCOMPLETE = "incomplete"  # LIST: some are left out, and it says so
    LIES = "lies"  # LIST: some are left out, and it does not say so


class TwinMisfortune(Struct, frozen=True):
    """One thing that will go wrong, with the next call that it fits."""

    mishap: TwinMishap
    call: str = ""  # any that changes something where this is empty
    host: str = ""
    seconds: float = CALL_SECONDS
    sentence: str = "no"


class CallLost(Exception):  # noqa: N818 - it says what happened
    """No answer: whether it was done is not known."""


class CallRefused(Exception):  # noqa: N818 - it says what happened
    """The platform's own words. ``lasting``: asking again cannot help."""

    def __init__(self, sentence: str, *, lasting: bool) -> None:
        super().__init__(sentence)
        self.lasting = lasting


class TwinFlag(Protocol):
    """As ``threading.Event``."""

    def set(self) -> None: ...
    def is_set(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...


@dataclass(slots=True)
class TwinMachine:
    """One machine at one host."""

    ref: str
    host: str
    power: MachinePower
    mark: str
    vm: str = ""  # whose it is; empty for a stranger
    why: SeenWhy = SeenWhy.UNKNOWN
    errand: str = ""
    disk: int = 0  # which one it has of its system; and of what is lost with the host
    ephemeral: int = 0
    moving_to: str = ""
    moves_at: float = 0.0


@dataclass(frozen=True, slots=True)
class TwinDeed:
    """One change that was really made."""

    call: TwinCall
    ref: str
    host: str
    errand: str


@dataclass
class TwinHosts:
    """The platform. May be called from any thread; what waits holds nothing meanwhile."""

    names: tuple[str, ...]
    elapsed: Callable[[], float] = lambda: 0.0
    make_flag: Callable[[], TwinFlag] = threading.Event
    migration_seconds: float = 0.0
    machines: dict[tuple[str, str], TwinMachine] = field(default_factory=dict)  # by host and ref
    deeds: list[TwinDeed] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    misfortunes: list[TwinMisfortune] = field(default_factory=list)
    made: int = 0
    changes: dict[str, int] = field(default_factory=dict)  # hints given, by host
    hints: str = "given"  # or "lost", "doubled", "late"
    _watchers: list[tuple[str, TwinFlag]] = field(default_factory=list)
    _hung: list[TwinFlag] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    # What happens to machines by themselves, or by people

    def put(self, ref: str, host: str, *, vm: str = "") -> TwinMachine:
        """A machine that runs there, made by hand."""
        machine = TwinMachine(ref, host, RUNNING, self._new_mark(ref), vm)
        self.machines[host, ref] = machine
        self.hint(host)
        return machine

    def copies(self, ref: str) -> list[TwinMachine]:
        """All that there are of one machine: two that run are one too many."""
        self._pass_time()
        return [replace(each) for (_, name), each in sorted(self.machines.items()) if name == ref]

    def end(self, ref: str, why: SeenWhy) -> None:
        """It goes off: shut down from inside, or crashed."""
        for machine in [each for (_, name), each in sorted(self.machines.items()) if name == ref]:
            self._off(machine, why)
            self.hint(machine.host)

    def boot(self, ref: str, host: str) -> None:
        """It starts anew, by hand."""
        machine = self.machines[host, ref]
        machine.power, machine.mark, machine.why = RUNNING, self._new_mark(ref), SeenWhy.UNKNOWN
        self.hint(host)

    def move(self, ref: str, host: str, to: str) -> None:
        """Let a machine go on at another host: somebody has moved it by hand."""
        machine = self.machines.pop((host, ref))
        machine.host, machine.moving_to = to, ""
        self.machines[to, ref] = machine
        self.hint(host)
        self.hint(to)

    def drop(self, ref: str, host: str) -> None:
        """It is removed, by hand."""
        self.machines.pop((host, ref), None)
        self.hint(host)

    def fall_silent(self, host: str, *, power_lost: bool = False) -> None:
        """The host answers no more. Its machines go on, unless it has lost its power."""
        self.silent.add(host)
        if power_lost:
            self.fence(host)

    def fence(self, host: str) -> bool:
        """Take its power away: nothing runs there afterwards."""
        for machine in [each for (name, _), each in sorted(self.machines.items()) if name == host]:
            self._off(machine, SeenWhy.CRASH)
        return True

    def answer(self, host: str) -> None:
        self.silent.discard(host)
        self.hint(host)

    def let_go(self) -> None:
        """What hangs comes back now."""
        hung, self._hung = self._hung, []
        for flag in hung:
            flag.set()

    # Hints

    def hint(self, host: str) -> None:
        """Something has changed there. May be lost, or be told twice, or with the next one."""
        manner, self.hints = self.hints, "given"
        if manner == "lost":
            return
        self.changes[host] = self.changes.get(host, 0) + (2 if manner == "doubled" else 1)
        if manner != "late":
            for name, flag in self._watchers:
                if name == host:
                    flag.set()

    def watch(self, host: str) -> TwinFlag:
        """A flag that the next hint about a host sets."""
        flag = self.make_flag()
        self._watchers = [(name, each) for name, each in self._watchers if not each.is_set()]
        self._watchers.append((host, flag))
        return flag

    # Calls

    def look(self, host: str, ref: str) -> TwinMachine | None:
        """One machine as it is now; None where there is none."""
        fate = self._fate(TwinCall.LOOK, host)
        self._reach(host, fate)
        self._pass_time()
        with self._lock:
            machine = self.machines.get((host, ref))
            found = None if machine is None else replace(machine)
        self._come_back(host, fate)
        return found

    def list_all(self, host: str) -> tuple[bool, list[TwinMachine]]:
        """Whether it is complete, and what is there now."""
        fate = self._fate(TwinCall.LIST, host)
        self._reach(host, fate)
        self._pass_time()
        with self._lock:
            found = [replace(each) for (name, _), each in sorted(self.machines.items()) if name == host]
        if fate is not None and fate.mishap in (TwinMishap.INCOMPLETE, TwinMishap.LIES):
            found = found[1:]
        self._come_back(host, fate)
        return fate is None or fate.mishap is not TwinMishap.INCOMPLETE, found

    def change(self, call: TwinCall, host: str, ref: str, errand: str, *, to: str = "", vm: str = "") -> None:
        """One change to one machine."""
        fate = self._fate(call, host)
        self._reach(host, fate)
        if fate is None or fate.mishap is not TwinMishap.FORGOTTEN:
            self._pass_time()
            with self._lock:
                self._act(call, host, ref, errand, to, vm)
                self.deeds.append(TwinDeed(call, ref, host, errand))
            self.hint(host)
        self._come_back(host, fate)

    def _fate(self, call: TwinCall, host: str) -> TwinMisfortune | None:
        with self._lock:
            for fate in self.misfortunes:
                fits = fate.call == call or (not fate.call and call not in (TwinCall.LIST, TwinCall.LOOK))
                if fits and fate.host in ("", host):
                    self.misfortunes.remove(fate)
                    return fate
        return None

    def _reach(self, host: str, fate: TwinMisfortune | None) -> None:
        """What goes wrong before anything is done."""
        if host not in self.names:
            raise CallRefused(f"no such host: {host}", lasting=True)
        if host in self.silent:
            self._wait(CALL_SECONDS)
            if host in self.silent:
                raise CallLost(f"{host} does not answer")
        if fate is None:
            return
        if fate.mishap in (TwinMishap.REFUSED, TwinMishap.FAILED):
            raise CallRefused(fate.sentence, lasting=fate.mishap is TwinMishap.REFUSED)
        if fate.mishap in (TwinMishap.HANGS, TwinMishap.SLOW):
            self._wait(fate.seconds)
        if fate.mishap is TwinMishap.HANGS:
            raise CallLost(f"{host} did not answer within {fate.seconds:g} s")

    def _come_back(self, host: str, fate: TwinMisfortune | None) -> None:
        """What goes wrong with the answer."""
        if fate is not None and fate.mishap is TwinMishap.HANGS_DONE:
            self._wait(fate.seconds)
        if fate is not None and fate.mishap in (TwinMishap.LOST, TwinMishap.HANGS_DONE):
            raise CallLost(f"the connection to {host} broke")
        if host in self.silent:
            raise CallLost(f"{host} does not answer")

    def _wait(self, seconds: float) -> None:
        flag = self.make_flag()
        self._hung.append(flag)
        flag.wait(seconds)

    # What they do

    def _act(self, call: TwinCall, host: str, ref: str, errand: str, to: str, vm: str) -> None:
        if call is TwinCall.CREATE:
            self._create(host, ref, errand, vm)
            return
        machine = self.machines.get((host, ref))
        if machine is None:
            raise CallRefused(f"no such machine: {ref}", lasting=True)
        machine.errand = errand
        match call:
            case TwinCall.START if machine.power is OFF:
                machine.power, machine.mark = RUNNING, self._new_mark(ref)
            case TwinCall.RESTART:
                machine.power, machine.mark = RUNNING, self._new_mark(ref)
            case TwinCall.STOP:
                self._off(machine, SeenWhy.ASKED)
            case TwinCall.PAUSE if machine.power is RUNNING:
                machine.power = PAUSED
            case TwinCall.RESUME if machine.power is PAUSED:
                machine.power = RUNNING
            case TwinCall.MIGRATE if to == "":
                machine.moving_to = ""
            case TwinCall.MIGRATE if to not in self.names or machine.power is OFF:
                raise CallRefused(f"cannot migrate {ref} to {to}", lasting=True)
            case TwinCall.MIGRATE:
                machine.moving_to, machine.moves_at = to, self.elapsed() + self.migration_seconds
            case TwinCall.REMOVE:
                del self.machines[host, ref]
            case _:
                raise CallRefused(f"cannot {call} {ref}: it is {machine.power}", lasting=True)

    def _create(self, host: str, ref: str, errand: str, vm: str) -> None:
        if (host, ref) in self.machines:
            raise CallRefused(f"there is a machine {ref} already", lasting=True)
        self.made += 1
        mark = f"{ref}#{self.made}"
        self.machines[host, ref] = TwinMachine(ref, host, OFF, mark, vm, SeenWhy.ASKED, errand, self.made, self.made)

    def _off(self, machine: TwinMachine, why: SeenWhy) -> None:
        if machine.power is not OFF:
            machine.power, machine.why, machine.moving_to = OFF, why, ""

    def _new_mark(self, ref: str) -> str:
        self.made += 1
        return f"{ref}#{self.made}"

    def _pass_time(self) -> None:
        """Migrations that have come to their end by now are over; where the target does not answer, they stay."""
        now = self.elapsed()
        with self._lock:
            for (host, ref), machine in sorted(self.machines.items()):
                if machine.moving_to and machine.moves_at <= now:
                    to, machine.moving_to = machine.moving_to, ""
                    if not {host, to} & self.silent:
                        machine.host = to
                        self.machines[to, ref] = self.machines.pop((host, ref))
                        self.hint(host)
                        self.hint(to)
