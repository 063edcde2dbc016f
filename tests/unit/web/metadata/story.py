"""A region that grows by real commands, without plane or loop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.core.commands import Approve, Command, CreateVms, Pulse, RestartVms
from forewarn.core.facts import Fact
from forewarn.core.region import Region, Scope, Vm
from forewarn.core.rules import Rules
from forewarn.core.specs import Binding, VmSpec
from forewarn.core.step import step
from forewarn.plane.ports import Origin, Record

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Story:
    def __init__(self) -> None:
        self.region = Region()
        self.now = NOON

    def tell(self, command: Command) -> tuple[Fact, ...]:
        self.region, facts = step(self.region, command, self.now, Rules())
        return facts

    def create(self, *names: str, spec: VmSpec | None = None, binding: Binding | None = None) -> None:
        self.tell(CreateVms(names, spec or VmSpec(), f"seed of {names}", binding))

    def enable(self, name: str) -> None:
        self.tell(Pulse(((name, self.now),)))

    def restart(self, name: str, seed: str = "restart") -> str:
        self.tell(RestartVms((name,), seed))
        return self.scope(name).events[-1]

    def approve(self, event_id: str) -> tuple[Fact, ...]:
        return self.tell(Approve((event_id,), "somebody"))

    def wait(self, by: timedelta) -> None:
        self.now += by

    def vm(self, name: str) -> Vm:
        return self.region.vms[name]

    def scope(self, name: str) -> Scope:
        return self.region.scope_of(self.vm(name))


def records(facts: tuple[Fact, ...]) -> list[Record]:
    return [Record(seq, fact, "test", Origin("operator")) for seq, fact in enumerate(facts, 1)]
