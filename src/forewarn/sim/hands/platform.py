"""The twin's hosts in a simulation: their time is the loop's, and nothing that a dead node asks for reaches them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from forewarn.core.machines.values import SeenWhy
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinCall, TwinFlag, TwinHosts, TwinMachine
from forewarn.sim.fabric.strands import StrandFlag, Strands

_T = TypeVar("_T")


class Onlooker(Protocol):
    """Is told of each call into the platform and of each machine that loses its memory."""

    def about_to(self, call: TwinCall, host: str, ref: str, errand: str, to: str) -> None: ...

    def lost_memory(self, ref: str) -> None: ...


@dataclass
class SeenHosts(TwinHosts):
    """The platform, which tells an onlooker what is done to its machines."""

    onlooker: Onlooker | None = None
    powerless: set[str] = field(default_factory=set)  # hosts that really have lost their power, until they take part

    def fence(self, host: str) -> bool:
        self.powerless.add(host)
        return super().fence(host)

    def _act(self, call: TwinCall, host: str, ref: str, errand: str, to: str, vm: str) -> None:
        if self.onlooker is not None:
            self.onlooker.about_to(call, host, ref, errand, to)
        super()._act(call, host, ref, errand, to, vm)

    def _off(self, machine: TwinMachine, why: SeenWhy) -> None:
        super()._off(machine, why)
        if self.onlooker is not None and why is not SeenWhy.ASKED:
            self.onlooker.lost_memory(machine.ref)


def hosts_in(hub: Strands, names: tuple[str, ...]) -> SeenHosts:
    return SeenHosts(names, elapsed=hub.loop.time, make_flag=lambda: StrandFlag(hub), migration_seconds=20.0)


class NodesEngine(TwinEngine):
    """The engine of one life of a node. What its calls began goes on when it dies; nothing comes back from them."""

    def __init__(self, hosts: TwinHosts, is_alive: Callable[[], bool], park: Callable[[], object]) -> None:
        super().__init__(hosts)
        self._hosts = _Reached(hosts, is_alive, park)  # type: ignore[assignment]  # the same promises, for as long as the process lives


class _Reached:
    """The hosts as a process reaches them: as long as it lives."""

    def __init__(self, hosts: TwinHosts, is_alive: Callable[[], bool], park: Callable[[], object]) -> None:
        self._all, self._is_alive, self._park = hosts, is_alive, park

    @property
    def names(self) -> tuple[str, ...]:
        return self._all.names

    @property
    def changes(self) -> dict[str, int]:
        return self._all.changes

    @property
    def machines(self) -> dict[tuple[str, str], TwinMachine]:
        return self._all.machines

    def hint(self, host: str) -> None:
        self._all.hint(host)

    def watch(self, host: str) -> TwinFlag:
        self._live()
        return self._all.watch(host)

    def look(self, host: str, ref: str) -> TwinMachine | None:
        return self._reach(lambda: self._all.look(host, ref))

    def list_all(self, host: str) -> tuple[bool, list[TwinMachine]]:
        return self._reach(lambda: self._all.list_all(host))

    def change(self, call: TwinCall, host: str, ref: str, errand: str, *, to: str = "", vm: str = "") -> None:
        self._reach(lambda: self._all.change(call, host, ref, errand, to=to, vm=vm))

    def _reach(self, call: Callable[[], _T]) -> _T:
        self._live()
        try:
            return call()
        finally:
            self._live()

    def _live(self) -> None:
        """A thread of a process that is gone does nothing any more."""
        if not self._is_alive():
            self._park()
