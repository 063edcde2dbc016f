"""Register and census beside a region that changes, and what they must be: counted anew, by nothing of the product."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from forewarn.core.facts import Fact
from forewarn.core.region import Event, Region
from forewarn.plane.ports import Origin, Record
from forewarn.plane.read_models.keeping import ReadModels
from forewarn.plane.read_models.making import Models
from forewarn.sim.oracle.tables import KINDS


def shown(models: Models) -> dict[str, Any]:
    """What the product says, as plain values."""
    register, census = models.register, models.census
    return {
        "vms": list(register.vms),
        "not running": list(register.not_running),
        "spot": list(register.spot),
        "pending": list(register.pending),
        "scopes": list(register.scopes),
        "scale sets": list(register.scale_sets),
        "event ids": list(register.events),
        "by schedule": [event_id for _, event_id in register.events_by_schedule],
        "by NotBefore": [event_id for _, event_id in register.events_by_not_before],
        "cohorts": {tuple(map(_plain, cohort)): list(order) for cohort, order in register.cohorts.items()},
        "traits": {tuple(map(_plain, traits)): number for traits, number in census.vms.items()},
        "models": dict(census.models),
        "events": {(kind.value, phase.value): number for (kind, phase), number in census.events.items()},
        "health": {health.value: number for health, number in census.health.items()},
        "hosts": list(census.hosts),
    }


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def expected(region: Region) -> dict[str, Any]:
    """The same, from a look at everything there is."""
    told = [event for event in region.events.values() if event.announced]
    ahead = {vm for event in told if event.phase.value in ("scheduled", "approved") for vm in event.vms}
    vms = dict(region.vms)
    return {
        "vms": sorted(vms),
        "not running": sorted(key for key, vm in vms.items() if vm.power.value != "running"),
        "spot": sorted(key for key, vm in vms.items() if vm.spec.spot),
        "pending": sorted(ahead & set(vms)),
        "scopes": sorted(region.scopes),
        "scale sets": sorted(region.scale_sets),
        "event ids": sorted(event.id for event in told),
        "by schedule": [event.id for event in sorted(told, key=lambda event: (event.scheduled_at, event.id))],
        "by NotBefore": [event.id for event in sorted(told, key=lambda event: (event.not_before, event.id))],
        "cohorts": _cohorts(region.events.values()),
        "traits": Counter(
            (vm.spec.kind.value, vm.power.value, vm.update_domain, vm.fault_domain, vm.spec.spot, key in ahead)
            for key, vm in vms.items()
        ),
        "models": Counter(
            (vm.spec.set_name.split("~")[0].lower(), vm.traits.model)
            for vm in vms.values()
            if vm.spec.kind.value == "placement-group"
        ),
        "events": Counter((KINDS[event.cause.value].type, event.phase.value) for event in told),
        "health": Counter(host.health.value for host in region.hosts.values()),
        "hosts": [_byte(region, number) for number in range(len(region.hosts))],
    }


def _cohorts(events: Iterable[Event]) -> dict[tuple[Any, ...], list[tuple[datetime, str]]]:
    """Those of a campaign by its update domains, and all by what they are and how far."""
    found: dict[tuple[Any, ...], list[tuple[datetime, str]]] = {}
    for event in sorted(events, key=lambda event: (event.not_before, event.id)):
        domain = event.update_domain if event.campaign else -1
        cohort = (event.campaign, domain, KINDS[event.cause.value].type, event.phase.value, event.announced)
        found.setdefault(cohort, []).append((event.not_before, event.id))
    return found


def _byte(region: Region, number: int) -> int:
    down = sum(vm.host == number and vm.power.value != "running" for vm in region.vms.values())
    work = any(event.host == number for event in region.events.values())
    health = {"healthy": 0, "failing": 1, "failed": 2}[region.hosts[number].health.value]
    return health + 4 * work + 8 * min(down, 31)


def _agree(models: Models, region: Region) -> None:
    told, counted = shown(models), expected(region)
    assert not {part: (told[part], counted[part]) for part in counted if told[part] != counted[part]}


class Publishing:
    """What a plane publishes, published by a test."""

    def __init__(self) -> None:
        self.region, self.seq = Region(), 0
        self.listeners: list[Callable[[Region, Sequence[Record]], None]] = []

    def subscribe(self, listener: Callable[[Region, Sequence[Record]], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def publish(self, region: Region, facts: Sequence[Fact]) -> None:
        records = [Record(seq, fact, "Test", Origin("test")) for seq, fact in enumerate(facts, self.seq + 1)]
        self.region, self.seq = region, self.seq + len(facts)
        for listener in tuple(self.listeners):
            listener(region, records)


class Reader:
    """Somebody who asks now and then. The work goes on by single steps, as often as the test lets it."""

    def __init__(self) -> None:
        self.publishing = Publishing()
        ticks = count()
        self.models = ReadModels(self.publishing, lambda: float(next(ticks)))
        self._loop = asyncio.new_event_loop()
        self._asked: list[asyncio.Task[Models | None]] = []

    def ask(self) -> None:
        self._asked.append(self._loop.create_task(self.models.at_hand()))

    def turn(self, times: int) -> None:
        for _ in range(times):
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()

    def look(self) -> None:
        """What is at hand is of the last publication, and is what a count over it says."""
        models = self._loop.run_until_complete(self.models.at_hand())
        assert models is not None
        assert models.seq == self.publishing.seq
        _agree(models, self.publishing.region)

    def close(self) -> None:
        self.look()
        for asked in self._asked:
            models = self._loop.run_until_complete(asked)
            assert models is not None
            _agree(models, models.region)
        self._loop.run_until_complete(self.models.close())
        self._loop.close()
