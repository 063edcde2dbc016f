"""The hands of a process: what it does at the hosts of real machines. Nothing that matters is kept here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

from forewarn.core.region import Region
from forewarn.plane.hands.carrying import Carrying
from forewarn.plane.hands.settings import Machines
from forewarn.plane.hands.sites import Site, Sites
from forewarn.plane.hands.watching import Watching, set_within
from forewarn.plane.ports import Record, Submits
from forewarn.plane.standing import Standing
from forewarn.plane.system import ServerSystem


class Hands:
    """Started and closed with the plane. Without declared hosts it does nothing, and costs nothing."""

    def __init__(
        self,
        machines: Machines,
        writing: Submits,
        standing: Standing,
        now: Callable[[], datetime],
        system: ServerSystem,
    ) -> None:
        hosts, settings = machines.hosts, machines.settings
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
        watching = (Watching(site, *self._parts) for site in self._sites)
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

    def _published(self, region: Region, _: Sequence[Record]) -> None:
        self._changed.set()
        for site in self._sites:
            if site.answered_at is None and site.may_work and site.registered(region) is not None:
                site.to_list.set()  # it has just been registered

    def _wake(self) -> None:
        """Who leads has changed: everything is looked at again."""
        self._changed.set()
        for site in self._sites:
            site.to_list.set()

    async def _carry_on(self) -> None:
        while True:
            self._changed.clear()
            self._carrying.look()
            await set_within(self._changed, self._look_seconds)
