"""The engine over hosts in memory. Every errand goes the same way: look, be allowed, change one thing, look again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from forewarn.core.machines.values import Errand, ErrandKind, Listing, MachinePower, SeenWhy, Sighting
from forewarn.core.region import replace
from forewarn.engines.twin.hosts import CallLost, CallRefused, TwinCall, TwinHosts, TwinMachine
from forewarn.plane.hands.engine import (
    FILTERED,
    MIGRATABLE,
    REACHABLE,
    Done,
    EngineFault,
    ErrandResult,
    Failed,
    Finding,
    NotYet,
    Unknown,
    Warrant,
    Way,
)

MIGRATING_SECONDS = 1.0  # between two looks at a migration
_STEPS_MOST = 8  # changes that one errand may take
_WATCH_SECONDS = 60.0  # how long a watch waits before it looks whether the engine was closed
RUNNING, PAUSED, OFF, GONE = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF, MachinePower.GONE

Step = Callable[[], None]
Next = Sighting | NotYet | Failed | Unknown | Step


class TwinEngine:
    """What is there decides what is done next, whatever was done before: it remembers nothing of an errand but that its
    machine cannot be made, until what was made of it is away again."""

    kinds = frozenset(ErrandKind) - {ErrandKind.FENCE}

    def __init__(self, hosts: TwinHosts, name: str = "twin") -> None:
        self.name, self._hosts, self._closed = name, hosts, False
        self._refused: dict[str, str] = {}  # errands whose machine cannot be made, with the reason
        self._next: dict[ErrandKind, Callable[[Errand, Warrant], Next]] = {
            ErrandKind.CREATE: self._create,
            ErrandKind.START: self._start,
            ErrandKind.STOP: self._stop,
            ErrandKind.OFF: self._switch_off,
            ErrandKind.DELETE: self._delete,
            ErrandKind.RESTART: self._restart,
            ErrandKind.PAUSE: self._pause,
            ErrandKind.MIGRATE: self._migrate,
            ErrandKind.REDEPLOY: self._redeploy,
            ErrandKind.REIMAGE: self._reimage,
        }

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Look, do the next thing, and look again, until what is wanted is there or something is in the way."""
        if errand.kind not in self.kinds:
            return Failed(f"{self.name} cannot {errand.kind} machines.", lasting=True)
        try:
            for step in range(_STEPS_MOST):
                undoing = errand.id in self._refused
                found = self._undo(errand) if undoing else self._next[errand.kind](errand, warrant)
                match found:
                    case Sighting(power=MachinePower.GONE) if not step:  # it was not here, and may be anywhere
                        return Done(replace(found, why=SeenWhy.UNKNOWN))
                    case Sighting():
                        return Done(found)
                    case NotYet() | Failed() | Unknown():
                        return found
                if not warrant.may():
                    return NotYet("This is not to be done any more.", MIGRATING_SECONDS)
                try:
                    found()
                except CallRefused as fault:
                    if undoing or errand.kind is not ErrandKind.CREATE or not fault.lasting:
                        raise
                    self._refused[errand.id] = f"{self.name} refuses: {fault}"
        except CallLost as fault:
            return Unknown(f"It is not known what became of it: {fault}.")
        except CallRefused as fault:
            return Failed(f"{self.name} refuses: {fault}", lasting=fault.lasting and errand.id not in self._refused)
        return NotYet("It is not as it was left.", MIGRATING_SECONDS)

    def _undo(self, errand: Errand) -> Next:
        """What was made for a machine that cannot be is removed before anybody hears that it cannot be."""
        ref = errand.ref or errand.vm_id
        machine = self._find(errand.to, ref)
        if machine is None or machine.errand != errand.id:
            return Failed(self._refused.pop(errand.id), lasting=True)
        if machine.power is not OFF:  # somebody has started it after all
            del self._refused[errand.id]
            return self._running(machine, errand)
        return lambda: self._hosts.change(TwinCall.REMOVE, errand.to, ref, errand.id)

    # What an errand does next, where it is not satisfied

    def _create(self, errand: Errand, _: Warrant) -> Next:
        ref = errand.ref or errand.vm_id
        machine = self._find(errand.to, ref)
        if machine is None and not errand.blueprint and not errand.definition:
            return Failed(f"It is not known what to make {ref} from.", lasting=True)
        if machine is None:
            return lambda: self._hosts.change(TwinCall.CREATE, errand.to, ref, errand.id, vm=errand.vm)
        return self._running(machine, errand)

    def _start(self, errand: Errand, _: Warrant) -> Next:
        missing = self._find(errand.to, errand.ref) is None
        return (self._elsewhere(errand, errand.to) if missing else None) or self._create(errand, _)

    def _elsewhere(self, errand: Errand, *looked_at: str) -> Failed | Unknown | None:
        """Look at all other hosts before a missing machine is made anew: somebody may have moved it there.

        If its own host is known to be off, hosts that do not answer are passed over: it was listed there last.
        """
        passed = (errand.host, *errand.unheard) if errand.source_off else ()
        for host in self._hosts.names:
            if host in (*looked_at, *errand.off_at, *passed):
                continue
            if host in errand.unheard:
                return Unknown(f"{host} does not answer, so {errand.ref} may run there.")
            machine = self._find(host, errand.ref)
            if machine is not None and machine.power is not OFF:
                return Failed(f"{errand.ref} runs at {host}: it is started nowhere else.", lasting=False)
        return None

    def _stop(self, errand: Errand, _: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref)
        if machine is None:
            return _no_machine(errand)
        return _seen(machine) if machine.power is OFF else self._do(TwinCall.STOP, errand)

    def _switch_off(self, errand: Errand, _: Warrant) -> Next:
        """Off, and at no host: the region keeps what it needs to make it again."""
        machine = self._find(errand.host, errand.ref) if errand.host else None
        if machine is None:
            power = OFF if errand.vm else GONE
            return Sighting(errand.ref, errand.host, power, why=SeenWhy.ASKED, errand=errand.id)
        return self._do(TwinCall.REMOVE if machine.power is OFF else TwinCall.STOP, errand)

    def _delete(self, errand: Errand, _: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref) if errand.host else None
        if machine is None:
            return Sighting(errand.ref, errand.host, GONE, why=SeenWhy.ASKED, errand=errand.id)
        return self._do(TwinCall.REMOVE if machine.power is OFF else TwinCall.STOP, errand)

    def _restart(self, errand: Errand, _: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref)
        if machine is None:
            return _no_machine(errand)
        if machine.power is not OFF and machine.mark != errand.boot_mark:
            return self._running(machine, errand)  # somebody may have paused it since
        return self._do(TwinCall.RESTART, errand)

    def _pause(self, errand: Errand, warrant: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref)
        if machine is None:
            return _no_machine(errand)
        if machine.power is OFF:
            return Failed(f"{errand.ref} is not running, so it cannot be paused.", lasting=True)
        left = warrant.left()
        if left > 0 and (machine.power is PAUSED or warrant.again):
            return NotYet("The pause is not over.", left)
        if left > 0:
            return self._do(TwinCall.PAUSE, errand)
        return self._do(TwinCall.RESUME, errand) if machine.power is PAUSED else _seen(machine)

    def _migrate(self, errand: Errand, _: Warrant) -> Next:
        there, here = self._find(errand.to, errand.ref), self._find(errand.host, errand.ref)
        if there is not None and here is None:  # it may have been paused on the way
            return self._running(there, errand) if there.power is not OFF else _seen(there)
        if here is None:
            return _no_machine(errand)
        if here.moving_to == errand.to:
            return NotYet("It is on its way.", MIGRATING_SECONDS)
        if here.power is OFF:
            return Failed(f"{errand.ref} is not running, so it cannot be moved alive.", lasting=True)
        return self._do(TwinCall.MIGRATE, errand, to=errand.to)

    def _redeploy(self, errand: Errand, _: Warrant) -> Next:
        """Off and away at the source first: only then may there be another.

        What somebody has taken to its target is made anew there.
        """
        apart = errand.host != errand.to
        here = self._find(errand.host, errand.ref) if apart and not errand.source_off else None
        if here is not None and not errand.blueprint and not errand.definition:  # nothing is broken for nothing
            return Failed(f"It is not known what to make {errand.ref} from.", lasting=True)
        if here is not None:  # its stamp is for what this errand makes
            step = TwinCall.REMOVE if here.power is OFF else TwinCall.STOP
            return lambda: self._hosts.change(step, errand.host, errand.ref, "")
        there = self._find(errand.to, errand.ref)
        ours = there is not None and there.errand == errand.id
        awake = there is not None and there.power is not OFF
        elsewhere = None if awake else self._elsewhere(errand, errand.host, errand.to)
        if elsewhere is not None:
            return elsewhere
        if there is not None and errand.source_off and there.power is not OFF and there.mark == errand.boot_mark:
            return _seen(there)  # it had come there before its host was lost
        if there is not None and not ours:
            call = TwinCall.REMOVE if there.power is OFF else TwinCall.STOP
            return lambda: self._hosts.change(call, errand.to, errand.ref, "")
        return self._create(errand, _)

    def _reimage(self, errand: Errand, _: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref)
        if machine is not None and machine.errand != errand.id:
            call = TwinCall.REMOVE if machine.power is OFF else TwinCall.STOP
            return lambda: self._hosts.change(call, errand.host, errand.ref, "")
        if machine is None:
            return self._elsewhere(errand, errand.host) or (
                lambda: self._hosts.change(TwinCall.CREATE, errand.host, errand.ref, errand.id, vm=errand.vm)
            )
        return self._running(machine, errand)

    def _running(self, machine: TwinMachine, errand: Errand) -> Sighting | Step:
        """Seen to run, or what makes it run."""
        if machine.power is RUNNING:
            return _seen(machine)
        call = TwinCall.RESUME if machine.power is PAUSED else TwinCall.START
        return lambda: self._hosts.change(call, machine.host, machine.ref, errand.id)

    def _do(self, call: TwinCall, errand: Errand, to: str = "") -> Step:
        return lambda: self._hosts.change(call, errand.host, errand.ref, errand.id, to=to)

    def _find(self, host: str, ref: str) -> TwinMachine | None:
        return self._hosts.look(host, ref)

    # The rest of the port

    def abandon(self, errand: Errand) -> None:
        """Abort a migration, end a pause."""
        try:
            machine = self._find(errand.host, errand.ref)
            if machine is not None and machine.moving_to:
                self._do(TwinCall.MIGRATE, errand)()
            if machine is not None and errand.kind is ErrandKind.PAUSE and machine.power is PAUSED:
                self._do(TwinCall.RESUME, errand)()
        except (CallLost, CallRefused) as fault:
            raise EngineFault(f"{self.name}: {fault}") from fault

    def listing(self, host: str) -> Listing:
        try:
            complete, machines = self._hosts.list_all(host)
        except (CallLost, CallRefused) as fault:
            raise EngineFault(f"{self.name}: {fault}") from fault
        cursor = str(self._hosts.changes.get(host, 0))
        return Listing(host, complete, tuple(_seen(each) for each in machines), cursor)

    def changes(self, host: str, cursor: str) -> Iterator[str]:
        told = int(cursor) if cursor.isdigit() else 0
        while not self._closed:
            flag = self._hosts.watch(host)
            latest = self._hosts.changes.get(host, 0)
            while told < latest:
                told += 1
                yield str(told)
            flag.wait(_WATCH_SECONDS)

    def adopt(self, host: str, ref: str, vm: str, vm_id: str) -> None:
        self._mark(host, ref, vm)

    def release(self, host: str, ref: str) -> None:
        self._mark(host, ref, "")

    def _mark(self, host: str, ref: str, vm: str) -> None:
        machine = self._hosts.machines.get((host, ref))
        if machine is None:
            raise EngineFault(f"{self.name} has no machine {ref} at {host}.")
        machine.vm = vm

    def examine(self, host: str, ref: str, way: Way) -> tuple[Finding, ...]:
        """Of a machine in memory, which has no network that somebody else could use."""
        if (host, ref) not in self._hosts.machines:
            raise EngineFault(f"{self.name} has no machine {ref} at {host}.")
        return (
            Finding(REACHABLE, True, f"{ref} is reached by its name."),
            Finding(FILTERED, True, f"Nobody else can speak as {ref}."),
            Finding(MIGRATABLE, True, f"Nothing holds {ref} at {host}."),
        )

    def close(self) -> None:
        """No machine ends with it."""
        self._closed = True
        for host in self._hosts.names:
            self._hosts.hint(host)


def _seen(machine: TwinMachine) -> Sighting:
    why = machine.why if machine.power is OFF else SeenWhy.UNKNOWN
    return Sighting(machine.ref, machine.host, machine.power, machine.mark, why, machine.errand, f"twin {machine.ref}")


def _no_machine(errand: Errand) -> Failed:
    return Failed(f"There is no machine {errand.ref} at {errand.host}.", lasting=True)
