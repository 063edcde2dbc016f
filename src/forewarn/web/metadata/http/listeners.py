"""The sockets a face listens on: the main one, and one for each VM that has a namespace or an address of its own.

What is wanted follows from the bindings in the region. A namespace or address that is not there yet is looked for
again and again; it never stops the rest.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.core.specs import Binding
from forewarn.plane.ports import Record
from forewarn.web.metadata.asking.callers import Entrance, is_loopback, plain_address
from forewarn.web.metadata.http.guest_sockets import NO_SOCKETS, guest_socket_path, listen_at_path
from forewarn.web.metadata.http.lane import Lane
from forewarn.web.metadata.http.namespaces import is_bound_to, listen_in, namespace_path
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.sockets import server_socket

_log = logging.getLogger(__name__)

_OF_BINDINGS = (f.VmBound, f.VmDeleted)

Build = Callable[[Entrance], asyncio.Protocol]


@dataclass(frozen=True, slots=True)
class ListeningPlace:
    """Somewhere to listen for one VM: inside a namespace, at a loopback address, or at a socket of the file system."""

    netns: str = ""
    interface: str = ""  # of the namespace; empty for what begins inside it
    local_address: str = ""
    unix: str = ""

    def __str__(self) -> str:
        if self.unix:
            return f"the Unix socket of {self.unix}"
        if not self.netns:
            return f"address {self.local_address}"
        where = f" on interface {self.interface}" if self.interface else ""
        return f"network namespace {self.netns}{where}"


class _Accepting(Protocol):
    """What accepts connections: a server of asyncio's, or an entrance of the short way."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Open:
    accepting: Sequence[_Accepting]
    inode: int = 0  # of the namespace: one that was made anew under the same name is another
    listening: socket.socket | None = None  # inside the namespace
    path: Path | None = None  # of a Unix socket


class Listeners:
    """Opens and closes sockets until what is open is what is wanted."""

    def __init__(self, build: Build, settings: MetadataSettings) -> None:
        self._build = build
        self._settings = settings
        self._lane: Lane | None = None
        self._main: Sequence[_Accepting] = ()
        self._main_hosts: set[str] = set()
        self._entrance = Entrance()
        self.port = 0
        self._wanted: dict[str, frozenset[ListeningPlace]] = {}  # by VM
        self._open: dict[ListeningPlace, _Open] = {}
        self._told: dict[ListeningPlace, str] = {}  # what was last said of a place that cannot be opened
        self._has_places = True
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def take(self, sockets: Sequence[socket.socket], lane: Lane | None = None) -> None:
        """Listen at main sockets that another process has bound, and nowhere else."""
        self._has_places = False
        self._know_main([listening.getsockname() for listening in sockets])
        if lane is not None:
            self._main = [lane.listen(listening, self._entrance) for listening in sockets]
            return
        loop = asyncio.get_running_loop()
        backlog = self._settings.limits.backlog
        for listening in sockets:
            served = await loop.create_server(lambda: self._build(self._entrance), sock=listening, backlog=backlog)
            self._main = [*self._main, served]

    async def leave_main(self, names: Sequence[tuple[Any, ...]], region: Region, lane: Lane | None = None) -> None:
        """Listen at the places of VMs alone: others serve the main sockets, which have these names."""
        self._lane = lane
        self._know_main(names)
        await self._begin(region)

    async def start(self, host: str, port: int, region: Region, lane: Lane | None = None) -> None:
        """Listen, by the short way where there is one. Only the main socket must succeed."""
        self._lane = lane
        if lane is None:
            server = await self._server(lambda: self._entrance, host, port)
            names = [listening.getsockname() for listening in server.sockets]
            self._know_main(names)
            self._main = [server]
        else:
            bound = await self._bind(host, port)
            self._know_main([listening.getsockname() for listening in bound])
            self._main = [lane.listen(listening, self._entrance) for listening in bound]
        await self._begin(region)

    async def _begin(self, region: Region) -> None:
        """Listen where VMs have places of their own, from now on."""
        for key in set(region.addresses.values()):
            self._want(key, region.vms[key].binding)
        await self._reconcile()
        self._task = asyncio.get_running_loop().create_task(self._follow_on())

    def _know_main(self, names: Sequence[tuple[Any, ...]]) -> None:
        self._entrance = Entrance(loopback=all(is_loopback(name[0]) for name in names), desk=self._settings.desk)
        self._main_hosts = {plain_address(name[0]) for name in names}
        self.port = names[0][1]

    async def close(self) -> None:
        """Listen no more; connections that were accepted are not touched."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for place in tuple(self._open):
            self._shut(place)
        main, self._main = self._main, ()
        for accepting in main:
            accepting.close()

    def publish(self, region: Region, records: Sequence[Record]) -> None:
        """Bindings may have changed. Seldom, so all other facts are passed over as quickly as can be."""
        for fact in [record.fact for record in records if type(record.fact) in _OF_BINDINGS]:
            match fact:
                case f.VmBound(vm=key, binding=binding):
                    self.bind(key, binding)
                case f.VmDeleted(vm=key):
                    self.bind(key, Binding())

    def bind(self, vm: str, binding: Binding) -> None:
        """A VM is known by this from now on."""
        if self._has_places:
            self._want(vm, binding)
            self._changed.set()

    def _want(self, vm: str, binding: Binding) -> None:
        places = {ListeningPlace(netns=binding.netns, interface=binding.interface)} if binding.netns else set()
        if binding.local_address and plain_address(binding.local_address) not in self._main_hosts:
            places.add(ListeningPlace(local_address=binding.local_address))
        if binding.unix:
            places.add(ListeningPlace(unix=binding.unix))
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
        else:
            self._told.pop(place, None)
            _log.info("Listening in %s.", place)

    def _tell(self, place: ListeningPlace, why: str) -> None:
        """Log each reason once, not at each look."""
        if self._told.get(place) != why:
            self._told[place] = why
            _log.warning("Cannot listen in %s yet (%s); looking again in a while.", place, why)

    async def _listen(self, place: ListeningPlace) -> _Open:
        if place.local_address:
            return _Open(await self._listen_at(place.local_address))
        if place.unix:
            path = guest_socket_path(self._settings.guest_sockets, place.unix)
            listening = listen_at_path(path, self._settings.limits.backlog)
            return _Open([await self._take_unix(listening, place)], path.stat().st_ino, path=path)
        path = namespace_path(place.netns)
        inode = path.stat().st_ino
        listening = await self._in_own_thread(
            lambda: listen_in(path, place.interface, self._settings.guest_address, self._settings.guest_port)
        )
        return _Open([await self._take(listening, place)], inode, listening)

    async def _listen_at(self, address: str) -> Sequence[_Accepting]:
        entrance = Entrance(loopback=is_loopback(address))
        if self._lane is None:
            return [await self._server(lambda: entrance, address, self.port)]
        return [self._lane.listen(bound, entrance) for bound in await self._bind(address, self.port)]

    async def _take(self, listening: socket.socket, place: ListeningPlace) -> _Accepting:
        """Accept what comes to a socket inside a namespace."""
        entrance = Entrance(netns=place.netns, interface=place.interface)
        backlog = self._settings.limits.backlog
        if self._lane is not None:
            listening.listen(backlog)
            return self._lane.listen(listening, entrance)
        loop = asyncio.get_running_loop()
        return await loop.create_server(lambda: self._build(entrance), sock=listening, backlog=backlog)

    async def _take_unix(self, listening: socket.socket, place: ListeningPlace) -> _Accepting:
        """Accept what comes to a socket of the file system; never by the short way, which knows addresses."""
        if sys.platform == "win32":
            raise OSError(NO_SOCKETS)
        entrance = Entrance(unix=place.unix)
        loop = asyncio.get_running_loop()
        return await loop.create_unix_server(lambda: self._build(entrance), sock=listening)

    async def _server(self, entrance: Callable[[], Entrance], host: str, port: int) -> asyncio.Server:
        """At all addresses of a host. On Windows at one, which is then nobody else's."""
        loop = asyncio.get_running_loop()
        backlog = self._settings.limits.backlog
        if sys.platform == "win32":
            bound = server_socket(host, port, backlog)
            return await loop.create_server(lambda: self._build(entrance()), sock=bound, backlog=backlog)
        return await loop.create_server(lambda: self._build(entrance()), host, port, backlog=backlog)

    async def _bind(self, host: str, port: int) -> list[socket.socket]:
        """Sockets that listen at every address that a name has, as asyncio's own servers do."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        bound: list[socket.socket] = []
        try:
            for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
                backlog = self._settings.limits.backlog
                bound.append(socket.create_server(address[:2], family=family, backlog=backlog))
        except BaseException:
            for listening in bound:
                listening.close()
            raise
        return bound

    async def _in_own_thread(self, work: Callable[[], socket.socket]) -> socket.socket:
        """A thread that has moved to another namespace must not be used for anything else."""
        thread = ThreadPoolExecutor(1, "forewarn-netns")
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, work)
        finally:
            thread.shutdown(wait=False)

    def _shut(self, place: ListeningPlace) -> None:
        found = self._open.pop(place)
        for accepting in found.accepting:
            accepting.close()
        if found.path is not None and _inode(found.path) == found.inode:
            found.path.unlink(missing_ok=True)
        _log.info("No longer listening in %s.", place)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _still_there(place: ListeningPlace, opened: dict[ListeningPlace, _Open]) -> bool:
    """A namespace or an interface that went leaves our socket behind in what is left of it."""
    found = opened[place]
    if found.path is not None:
        return _inode(found.path) == found.inode
    if found.listening is None:
        return True
    try:
        same_namespace = namespace_path(place.netns).stat().st_ino == found.inode
    except OSError:
        return False
    return same_namespace and is_bound_to(found.listening, place.interface)
