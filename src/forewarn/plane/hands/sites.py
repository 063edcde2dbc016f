"""Hosts where this process may work: whether it may just now, and what it knows of them in passing.

All of it can be lost: what matters is in the region.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

from forewarn.core.machines.values import Errand, ErrandKind, Listing
from forewarn.core.region import HostHealth, RealHost, Region, fold
from forewarn.durable import FileLock
from forewarn.plane.hands.calls import Calls
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineHost
from forewarn.plane.standing import Standing

HUNG_MOST = 8  # calls that have not come back; a host with so many counts as silent, as the specification has it
_AT_THE_TARGET = frozenset({ErrandKind.CREATE, ErrandKind.START})


class Site:
    """One declared host. Belongs to the loop."""

    def __init__(self, host: MachineHost, standing: Standing, node: str, parallel: int) -> None:
        self.name, self.engine, self.fence = host.name, host.engine, host.fence
        self._node, self._lock_path, self._standing = host.node, host.lock, standing
        self.is_mine = not host.node or host.node == node
        self._lock: FileLock | None = None
        self.calls = Calls()
        self.places = asyncio.Semaphore(parallel)
        self.answered_at: float | None = None  # by ``elapsed``; None before this process has begun to ask
        self.listing: Listing | None = None  # the last one
        self.listed_at = float("-inf")  # by ``elapsed``: when the last one that came was asked for
        self.to_list = asyncio.Event()
        self.announced_at: datetime | None = None  # what the node that works there said last, by its store's clock
        self.deserted = False  # the node that works there has not been heard of: who leads looks after the host

    @property
    def may_work(self) -> bool:
        """Whether this process is the one that touches machines there. May be asked from any thread."""
        if not self.is_mine or self._standing.closing:
            return False
        return not self._standing.stale if self._node else self._standing.leads

    @property
    def node(self) -> str:
        return self._node

    @property
    def stands_in(self) -> bool:
        """Whether this process looks after a host of another node, should that node be gone: it leads."""
        return not self.is_mine and not self._standing.closing and self._standing.leads

    @property
    def may_fence(self) -> bool:
        return self.may_work or (self.deserted and self.stands_in)

    @property
    def is_choked(self) -> bool:
        return self.calls.hung >= HUNG_MOST

    def registered(self, region: Region) -> RealHost | None:
        """The host as the region has it; None where it takes no part."""
        found = region.real_host(self.name)
        return found if found is not None and found.takes_part and found.engine == self.engine.name else None

    def hold(self) -> None:
        """Keep other hands away from a local engine. ``EngineFault`` where one is there already."""
        if self._lock_path is None or not self.is_mine:
            return
        try:
            self._lock = FileLock(self._lock_path)
        except OSError as fault:
            raise EngineFault(
                f"Another forewarn works at host {self.name}, or {self._lock_path} cannot be locked ({fault}): "
                "end the other one, or name the node that works there."
            ) from fault

    def let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class Sites:
    """All of them, by name."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._by_name = {fold(site.name): site for site in sites}

    def of(self, errand: Errand) -> Site | None:
        """Where an errand is carried out from: where the machine is, or is to be if it is nowhere yet."""
        at_target = errand.kind in _AT_THE_TARGET or errand.source_off
        return self._by_name.get(fold(errand.to if at_target and errand.to else errand.host))

    def needed(self, errand: Errand) -> list[Site]:
        """All of this process's that have a part in it: where the machine is, and where it is to be."""
        found = (self._by_name.get(fold(name)) for name in dict.fromkeys((errand.host, errand.to)) if name)
        return [site for site in found if site is not None and site.may_work]

    def blocked(self, errand: Errand, region: Region) -> bool:
        """Whether a host that it needs is silent: nothing is done there, and nothing is believed of it."""
        if errand.kind is ErrandKind.FENCE:
            return False
        source = "" if errand.kind in _AT_THE_TARGET or errand.source_off else errand.host
        return any(_is_silent(region, name) for name in (source, errand.to) if name)


def _is_silent(region: Region, name: str) -> bool:
    host = region.real_host(name)
    return host is not None and host.health is HostHealth.SILENT
