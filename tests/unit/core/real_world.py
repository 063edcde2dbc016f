"""A region of real machines on a table: hosts, machines and an engine that does what it is told, or does not."""

from __future__ import annotations

from datetime import timedelta

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.looking.errands import due_errands, supposed
from forewarn.core.machines.values import (
    ErrandKind,
    ErrandOutcome,
    ErrandReport,
    Listing,
    MachinePower,
    OpenErrand,
    RealMachine,
    SeenWhy,
    Sighting,
)
from forewarn.core.region import HostHealth, Power, RealHost
from forewarn.core.specs import NO_BINDING, VmSpec
from tests.unit.core.world import World

ENGINE = "twin"
RUNNING, PAUSED, OFF, GONE = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF, MachinePower.GONE


class RealWorld(World):
    """Two hosts, alpha and beta, and as many machines as a test adopts."""

    def __init__(self, *hosts: str, capacity: int = 4) -> None:
        super().__init__()
        for number, name in enumerate(hosts or ("alpha", "beta")):
            self.register(name, capacity=capacity, domain=number)

    def register(self, name: str, *, capacity: int = 4, domain: int = 0, kinds: tuple[ErrandKind, ...] = ()) -> None:
        self.do(c.RegisterHost(name, ENGINE, domain, domain, capacity, kinds))

    def adopt(self, vm: str, host: str = "alpha", *, mark: str = "boot-1", spec: VmSpec | None = None) -> None:
        spec = spec or VmSpec()
        self.do(c.AdoptMachine(vm, spec, self.seed(), host, f"ref-{vm}", mark, RUNNING, NO_BINDING))

    def machine(self, vm: str) -> RealMachine:
        return self.region.machines[vm]

    def host(self, name: str) -> RealHost:
        found = self.region.real_host(name)
        assert found is not None
        return found

    def health(self, name: str) -> HostHealth:
        return self.host(name).health

    def power(self, vm: str) -> Power:
        return self.region.vms[vm].power

    def home(self, vm: str) -> str:
        number = self.region.vms[vm].host
        return "" if number is None else self.region.hosts[number].name

    # Errands

    def due(self) -> dict[str, OpenErrand]:
        """What a hand may try now, by VM (or by host for what is no VM's)."""
        return {found.errand.vm or found.errand.host: found for found in due_errands(self.region)}

    def due_kinds(self) -> dict[str, ErrandKind]:
        return {whom: found.errand.kind for whom, found in self.due().items()}

    def try_it(self, vm: str) -> OpenErrand:
        found = self.due()[vm]
        self.do(c.TryErrand(found.errand.id))
        return self.region.errands[found.errand.id]

    def report(
        self, found: OpenErrand, outcome: str, why: str = "", *, lasting: bool = False, seen: Sighting | None = None
    ) -> None:
        self.do(c.ReportErrand(found.errand.id, ErrandReport(ErrandOutcome(outcome), why, lasting, seen)))

    def carry_out(self, vm: str) -> ErrandKind:
        """The engine does what is wanted."""
        found = self.try_it(vm)
        if found.errand.until is not None and self.now < found.errand.until:
            self.advance(found.errand.until - self.now)
        self.report(found, "done", seen=supposed(found.errand))
        return found.errand.kind

    def refuse(self, vm: str, why: str = "no space left on device", *, lasting: bool = True) -> None:
        """The engine says no."""
        self.report(self.try_it(vm), "failed", why, lasting=lasting)

    # Sightings

    def sees(
        self,
        host: str,
        *vms: str,
        power: MachinePower = RUNNING,
        mark: str | None = None,
        why: SeenWhy = SeenWhy.UNKNOWN,
        complete: bool = False,
        ago: timedelta = timedelta(0),
    ) -> tuple[f.Fact, ...]:
        """A listing of one host that shows these machines so, and says nothing of others unless it is complete."""
        seen = tuple(
            Sighting(self.machine(vm).ref, host, power, self.machine(vm).boot_mark if mark is None else mark, why)
            for vm in vms
        )
        return self.do(c.Sight(ENGINE, Listing(host, complete, seen), self.now - ago))
