"""The sockets a face listens on: the main one, and one for each VM that has a namespace or an address of its own.

What is wanted follows from the bindings in the region. A namespace or address that is not there yet is looked for
again and again; it never stops the rest.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.core.specs import Binding
from forewarn.plane.ports import Record
from forewarn.web.metadata.asking.callers import Entrance, is_loopback, plain_address
from forewarn.web.metadata.http.namespaces import is_bound_to, listen_in, namespace_path
from forewarn.web.metadata.settings import MetadataSettings

_log = logging.getLogger(__name__)

Build = Callable[[Entrance], asyncio.Protocol]


@dataclass(frozen=True, slots=True)
class ListeningPlace:
    """Somewhere to listen for one VM: inside a namespace, or at a loopback address."""

    netns: str = ""
    interface: str = ""  # of the namespace; empty for what begins inside it
    local_address: str = ""

    def __str__(self) -> str:
        if not self.netns:
            return f"address {self.local_address}"
        where = f" on interface {self.interface}" if self.interface else ""
        return f"network namespace {self.netns}{where}"


@dataclass(frozen=True, slots=True)
class _Open:
    server: asyncio.Server
    inode: int = 0  # of the namespace: one that was made anew under the same name is another
    listening: socket.socket | None = None  # inside the namespace


class Listeners:
    """Opens and closes sockets until what is open is what is wanted."""

    def __init__(self, build: Build, settings: MetadataSettings) -> None:
        self._build = build
        self._settings = settings
        self._main: asyncio.Server | None = None
        self._main_hosts: set[str] = set()
        self._entrance = Entrance()
        self.port = 0
        self._wanted: dict[str, frozenset[ListeningPlace]] = {}  # by VM
        self._open: dict[ListeningPlace, _Open] = {}
        self._told: dict[ListeningPlace, str] = {}  # what was last said of a place that cannot be opened
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int, region: Region) -> None:
        """Listen. Only the main socket must succeed."""
        loop = asyncio.get_running_loop()
        backlog = self._settings.limits.backlog
        self._main = await loop.create_server(lambda: self._build(self._entrance), host, port, backlog=backlog)
        names = [listening.getsockname() for listening in self._main.sockets]
        self._entrance = Entrance(loopback=all(is_loopback(name[0]) for name in names))
        self._main_hosts = {plain_address(name[0]) for name in names}
        self.port = names[0][1]
        for key in set(region.addresses.values()):
            self._want(key, region.vms[key].binding)
        await self._reconcile()
        self._task = loop.create_task(self._follow_on())

    async def close(self) -> None:
        """Listen no more; connections that were accepted are not touched."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for place in tuple(self._open):
            self._shut(place)
        if self._main is not None:
            self._main.close()

    def publish(self, region: Region, records: Sequence[Record]) -> None:
        """Bindings may have changed."""
        for record in records:
            match record.fact:
                case f.VmBound(vm=key, binding=binding):
                    self._want(key, binding)
                case f.VmDeleted(vm=key):
                    self._want(key, Binding())
                case _:
                    continue
            self._changed.set()

    def _want(self, vm: str, binding: Binding) -> None:
        places = {ListeningPlace(netns=binding.netns, interface=binding.interface)} if binding.netns else set()
        if binding.local_address and plain_address(binding.local_address) not in self._main_hosts:
            places.add(ListeningPlace(local_address=binding.local_address))
        if places:
            self._wanted[vm] = frozenset(places)
        else:
            self._wanted.pop(vm, None)

    async def _follow_on(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._settings.retry_seconds if self._wanted else None):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            await self._reconcile()

    async def _reconcile(self) -> None:
        wanted = {place for places in self._wanted.values() for place in places}
        for place in [place for place in self._open if place not in wanted or not _still_there(place, self._open)]:
            self._shut(place)
        self._told = {place: told for place, told in self._told.items() if place in wanted}
        for place in wanted - self._open.keys():
            await self._try(place)

    async def _try(self, place: ListeningPlace) -> None:
        try:
            self._open[place] = await self._listen(place)
        except OSError as error:
            self._tell(place, error.strerror or str(error))
        except AttributeError:
            self._tell(place, "this system has no network namespaces")
        else:
            self._told.pop(place, None)
            _log.info("Listening in %s.", place)

    def _tell(self, place: ListeningPlace, why: str) -> None:
        """Log each reason once, not at each look."""
        if self._told.get(place) != why:
            self._told[place] = why
            _log.warning("Cannot listen in %s yet (%s); looking again in a while.", place, why)

    async def _listen(self, place: ListeningPlace) -> _Open:
        loop = asyncio.get_running_loop()
        backlog = self._settings.limits.backlog
        if place.local_address:
            entrance = Entrance(loopback=is_loopback(place.local_address))
            server = await loop.create_server(
                lambda: self._build(entrance), place.local_address, self.port, backlog=backlog
            )
            return _Open(server)
        path = namespace_path(place.netns)
        inode = path.stat().st_ino
        listening = await self._in_own_thread(
            lambda: listen_in(path, place.interface, self._settings.guest_address, self._settings.guest_port)
        )
        entrance = Entrance(netns=place.netns, interface=place.interface)
        server = await loop.create_server(lambda: self._build(entrance), sock=listening, backlog=backlog)
        return _Open(server, inode, listening)

    async def _in_own_thread(self, work: Callable[[], socket.socket]) -> socket.socket:
        """A thread that has moved to another namespace must not be used for anything else."""
        thread = ThreadPoolExecutor(1, "forewarn-netns")
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, work)
        finally:
            thread.shutdown(wait=False)

    def _shut(self, place: ListeningPlace) -> None:
        self._open.pop(place).server.close()
        _log.info("No longer listening in %s.", place)


def _still_there(place: ListeningPlace, opened: dict[ListeningPlace, _Open]) -> bool:
    """A namespace or an interface that went leaves our socket behind in what is left of it."""
    found = opened[place]
    if found.listening is None:
        return True
    try:
        same_namespace = namespace_path(place.netns).stat().st_ino == found.inode
    except OSError:
        return False
    return same_namespace and is_bound_to(found.listening, place.interface)
