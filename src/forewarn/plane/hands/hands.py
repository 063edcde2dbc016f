"""The hands of a process: what it does at the hosts of real machines. Nothing that matters is kept here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, TypeVar

from forewarn.core.machines.facts import MachineAdopted
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region, fold
from forewarn.plane.hands.calls import CallHung
from forewarn.plane.hands.carrying import Carrying
from forewarn.plane.hands.engine import Engine, EngineFault
from forewarn.plane.hands.settings import MachineHost, Machines
from forewarn.plane.hands.sites import Site, Sites
from forewarn.plane.hands.watching import NodesPresent, Watching, set_within
from forewarn.plane.ports import Record, Submits
from forewarn.plane.standing import Standing
from forewarn.plane.system import ServerSystem

_NAMED_MOST = 10  # ours: names in one sentence
_T = TypeVar("_T")


class Hands:
    """Started and closed with the plane. Without declared hosts it does nothing, and costs nothing."""

    def __init__(
        self,
        machines: Machines,
        writing: Submits,
        standing: Standing,
        now: Callable[[], datetime],
        system: ServerSystem,
        present: NodesPresent | None = None,
    ) -> None:
        self._present = present
        hosts, settings = machines.hosts, machines.settings
        self.blueprints = machines.blueprints
        self.hosts, self._call_seconds = hosts, settings.call_timeout.total_seconds()
        self._sites = [Site(host, standing, machines.node, settings.parallel) for host in hosts]
        self._engines = list({id(host.engine): host.engine for host in hosts}.values())
        self._parts = (settings, writing, now, system)
        self._standing, self._changed = standing, asyncio.Event()
        self._look_seconds = settings.listing_every.total_seconds()
        self._carrying = Carrying(Sites(self._sites), *self._parts, self._changed.set)

    def start(self) -> list[Coroutine[Any, Any, None]]:
        """Hold local hosts against other processes, and give what is to run from now on.

        ``EngineFault`` where another process works at one of them.
        """
        if not self._sites:
            return []
        for site in self._sites:
            site.hold()
        self._parts[1].subscribe(self._published)
        self._standing.on_lead(lambda _: self._wake())
        watching = (Watching(site, *self._parts, self._present) for site in self._sites)
        return [self._carry_on(), *(each.watch_on() for each in watching)]

    async def close(self) -> None:
        """End what runs here. No machine and no migration ends with it; pauses do."""
        await self._carrying.close()
        for engine in self._engines:
            engine.close()
        for site in self._sites:
            site.let_go()

    @property
    def hung(self) -> dict[str, int]:
        """Calls that have not come back, by host."""
        return {site.name: site.calls.hung for site in self._sites}

    # What people ask engines for, beside errands

    def declared(self, name: str) -> MachineHost:
        """A host of the server's own files. ``Refused`` where they have none of that name."""
        for host in self.hosts:
            if fold(host.name) == fold(name):
                return host
        known = ", ".join(host.name for host in self.hosts[:_NAMED_MOST]) or "none"
        raise Refused(
            Hint.NOT_FOUND,
            f"No [[host]] of this server's region file is named '{name[:80]}'; it declares: {known}.",
        )

    def made_from(self, blueprint: str) -> str:
        """The engine of a blueprint of the server's own files. ``Refused`` where they have none of that name."""
        if blueprint not in self.blueprints:
            known = ", ".join(sorted(self.blueprints)[:_NAMED_MOST]) or "none"
            raise Refused(
                Hint.NOT_FOUND,
                f"No [[blueprint]] of this server's region file is named '{blueprint[:80]}'; it declares: {known}.",
            )
        return self.blueprints[blueprint]

    async def ask(self, name: str, question: Callable[[Engine], _T]) -> _T:
        """What an engine says about one of its hosts. ``Refused`` with its words where it says nothing."""
        host = self.declared(name)
        site = next(each for each in self._sites if each.name == host.name)
        if not site.is_mine:
            raise Refused(Hint.CONFLICT, f"Host '{host.name}' is reached from node '{host.node}' only: ask that one.")
        if site.is_choked:
            raise Refused(Hint.CONFLICT, f"{site.calls.hung} calls into host '{host.name}' have not come back.")
        try:
            return await site.calls.call(self._call_seconds, question, host.engine)
        except (CallHung, EngineFault) as fault:
            raise Refused(Hint.CONFLICT, f"The engine of host '{host.name}' did not do it: {fault}") from None

    def _published(self, region: Region, records: Sequence[Record]) -> None:
        self._changed.set()
        adopted = {fold(record.fact.host) for record in records if isinstance(record.fact, MachineAdopted)}
        for site in self._sites:
            if fold(site.name) in adopted:
                site.to_list.set()  # so that it is soon known how to make the machine again
            if site.answered_at is None and site.may_work and site.registered(region) is not None:
                site.to_list.set()  # it has just been registered

    def _wake(self) -> None:
        """Look at all errands and hosts again: the lead has changed."""
        self._changed.set()
        for site in self._sites:
            site.to_list.set()

    async def _carry_on(self) -> None:
        while True:
            self._changed.clear()
            self._carrying.look()
            await set_within(self._changed, self._look_seconds)
