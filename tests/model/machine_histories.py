"""Random histories of real machines: people, engines that hang, hosts that are lost, and a judge who sees it all.

The judge is written from the rules for machines alone. A seed is a history: the same seed lives the same one again.
What a hung call was to do is done late, or never; a host does it before it answers its next listing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, SeenWhy
from forewarn.engines.twin.hosts import CallLost, CallRefused, TwinCall, TwinHosts, TwinMachine

RUNNING, PAUSED, OFF = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOSTS, MACHINES = ("alpha", "beta", "gamma"), ("web", "db", "job")
_ONCE = (TwinCall.RESTART, TwinCall.PAUSE, TwinCall.START)
CAUSES = (Cause.FREEZE, Cause.LIVE_MIGRATION, Cause.REBOOT)


class AtOnce:
    """A flag whose waits are over at once: time passes only between the steps of a history."""

    def set(self) -> None: ...

    def is_set(self) -> bool:
        return True

    def wait(self, timeout: float | None = None) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Change:
    """One call that changes a machine."""

    call: TwinCall
    host: str
    ref: str
    errand: str
    to: str
    vm: str


@dataclass(frozen=True, slots=True)
class Look:
    """A copy of a machine as it was at some instant."""

    at: datetime
    host: str
    power: MachinePower
    mark: str
    ephemeral: int
    disk: int


@dataclass
class Platform(TwinHosts):
    """Hosts whose calls go wrong by chance while ``troubled``; everything that they do is kept for the judge."""

    random: Random = field(default_factory=Random)
    now: Callable[[], datetime] = field(default=lambda: NOON)
    between: Callable[[], None] = lambda: None  # what else happens in the middle of a call
    judge: Judge | None = None
    troubled: bool = True
    late: list[Change] = field(default_factory=list)
    unpowered: set[str] = field(default_factory=set)

    def change(self, call: TwinCall, host: str, ref: str, errand: str, *, to: str = "", vm: str = "") -> None:
        change = Change(call, host, ref, errand, to, vm)
        luck = self.random.random() if self.troubled else 1.0
        if luck < 0.1:
            self.between()
        self._reach(host, None)
        luck = self.random.random() if self.troubled else 1.0
        if luck < 0.05:
            raise CallLost(f"{host} did not answer")
        if luck < 0.10:
            self.late.append(change)
            raise CallLost(f"{host} did not answer in time")
        if luck < 0.14:
            raise CallRefused("no space left on device", lasting=luck < 0.12)
        self.land(change)
        if luck < 0.2:
            raise CallLost(f"the connection to {host} broke")

    def land(self, change: Change) -> None:
        """It is done now."""
        assert self.judge is not None
        self._pass_time()
        self.judge.about_to(change)
        self._act(change.call, change.host, change.ref, change.errand, change.to, change.vm)
        self.judge.look(change.ref)

    def land_late(self, host: str) -> None:
        """What hung there is done, where that can still be."""
        mine, self.late = [each for each in self.late if each.host == host], [x for x in self.late if x.host != host]
        for change in mine:
            try:
                if host not in self.unpowered:
                    self.land(change)
            except CallRefused:
                pass

    def lose_power(self, host: str) -> None:
        self.unpowered.add(host)
        self.silent.add(host)
        self.late = [each for each in self.late if each.host != host]
        self.fence(host)

    def _off(self, machine: TwinMachine, why: SeenWhy) -> None:
        super()._off(machine, why)
        if self.judge is not None and why is not SeenWhy.ASKED:
            self.judge.lost_memory(machine.ref)


class Judge:
    """Rule 3: never two running copies by our doing. Rule 2: nothing is done twice. Rule 1: nothing is over unseen."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._done: Counter[tuple[str, TwinCall]] = Counter()
        self._looks: dict[str, list[Look]] = {}
        self._errands: dict[str, tuple[Errand, list[Look]]] = {}
        self._theirs: set[tuple[str, str]] = set()  # copies that a host has started by itself
        self.faults: list[str] = []

    def about_to(self, change: Change) -> None:
        if change.call in (TwinCall.RESTART, TwinCall.START):
            others = [each for each in self._copies(change.ref) if each.host != change.host and each.power is RUNNING]
            ours = [each.host for each in others if (each.host, each.ref) not in self._theirs]
            if ours and self._does_something(change):
                self.faults.append(f"{change.ref} is started at {change.host} while it runs at {ours}")
        if change.call in _ONCE and change.errand and self._does_something(change):
            self._done[change.errand, change.call] += 1
            if self._done[change.errand, change.call] > 1:
                self.faults.append(f"errand {change.errand} does {change.call} to {change.ref} twice")

    def _does_something(self, change: Change) -> bool:
        machine = self._platform.machines.get((change.host, change.ref))
        needs = {TwinCall.START: OFF, TwinCall.PAUSE: RUNNING}.get(change.call)
        return machine is not None and needs in (None, machine.power)

    def started_itself(self, host: str, ref: str) -> None:
        self._theirs.add((host, ref))
        self.look(ref)

    def lost_memory(self, ref: str) -> None:
        """What went off by itself may have to be started again; a pause is not begun again for it."""
        for key in list(self._done):
            if key[1] is not TwinCall.PAUSE and self._ref_of(key[0]) in ("", ref):
                del self._done[key]
        self.look(ref)

    def _ref_of(self, errand_id: str) -> str:
        return self._errands[errand_id][0].ref if errand_id in self._errands else ""

    def look(self, ref: str) -> None:
        """Keep how all copies of a machine are just now."""
        known = self._looks.setdefault(ref, [])
        known += self._now(ref)
        self._theirs = {each for each in self._theirs if self._runs(*each)}

    def _now(self, ref: str) -> list[Look]:
        at = self._platform.now()
        return [Look(at, each.host, each.power, each.mark, each.ephemeral, each.disk) for each in self._copies(ref)]

    def _copies(self, ref: str) -> list[TwinMachine]:
        return [each for (_, name), each in sorted(self._platform.machines.items()) if name == ref]

    def _runs(self, host: str, ref: str) -> bool:
        machine = self._platform.machines.get((host, ref))
        return machine is not None and machine.power is RUNNING

    def told(self, facts: tuple[f.Fact, ...]) -> None:
        """What the region says has happened."""
        for fact in facts:
            match fact:
                case mf.ErrandMade(errand=errand):
                    self._errands[errand.id] = (errand, self._now(errand.ref))
                case mf.ErrandEnded(errand_id=errand_id) if errand_id in self._errands:
                    self._ended(*self._errands[errand_id])
                case _:
                    pass

    def _ended(self, errand: Errand, before: list[Look]) -> None:
        """What an errand wants was so at some instant since it was made."""
        ref = errand.ref or errand.vm_id
        since = [*before, *(each for each in self._looks.get(ref, ()) if each.at >= errand.made_at), *self._now(ref)]
        ran = [each for each in since if each.power is RUNNING]
        old_disks, old_ephemerals = {each.disk for each in before}, {each.ephemeral for each in before}
        fine = {
            ErrandKind.RESTART: any(each.mark != errand.boot_mark for each in ran),
            ErrandKind.REIMAGE: any(each.disk not in old_disks for each in ran),
            ErrandKind.REDEPLOY: any(each.ephemeral not in old_ephemerals for each in ran),
            ErrandKind.PAUSE: errand.until is not None and self._platform.now() >= errand.until,
            ErrandKind.DELETE: not [each for each in self._now(ref) if each.host not in self._platform.unpowered],
        }
        if errand.vm and not fine.get(errand.kind, True):
            self.faults.append(f"{errand.kind.value} of {ref} is called done, and it is not: {self._now(ref)}")


def asked(random: Random, vms: list[str], seed: str) -> c.Command:
    """What a person, or the platform, may want of machines."""
    names = tuple(random.sample(vms, random.randint(1, len(vms))))
    return random.choice(
        (
            c.RestartVms(names, seed),
            c.RedeployVms(names[:1], seed),
            c.RedeployVms(names[:1], seed),
            c.ReimageVms(names[:1], seed),
            c.StopVms(names[:1]),
            c.StartVms(names[:1]),
            c.DeallocateVms(names[:1]),
            c.DeleteVms(names[:1], seed),
            c.MaintainHosts((random.choice(HOSTS),), random.choice(CAUSES), seed),
            c.MaintainHosts((random.choice(HOSTS),), random.choice(CAUSES), seed),
        )
    )
