"""The metadata face: the service, its connections and its sockets, started and closed together."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from datetime import datetime

from forewarn.core.region import Region
from forewarn.plane.ports import Record
from forewarn.web.answers import Answers
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.asking.callers import Entrance
from forewarn.web.metadata.ground import Ground
from forewarn.web.metadata.http.connection import Connection
from forewarn.web.metadata.http.lane import CAN_BE_SHORT, Beginning, Lane
from forewarn.web.metadata.http.listeners import Listeners
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.service import Service
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.metadata.witnessed import WitnessedService
from forewarn.web.seen import LookingOn
from forewarn.web.slices.holding import HeldChange
from forewarn.web.watched import WatchedVms


class BufferedConnection(Connection):
    """A connection on Windows: before Python 3.12 the loop there hands out its own buffer, not bytes."""

    def data_received(self, data: bytes) -> None:
        super().data_received(bytes(data))


_CONNECTION: type[Connection] = BufferedConnection if sys.platform == "win32" else Connection


class MetadataFace:
    """What guests see. ``port`` is the port of the main socket, once it listens."""

    def __init__(
        self,
        plane: Ground,
        faults: FaultRules,
        watched: WatchedVms,
        settings: MetadataSettings,
        answers: Answers,
        onlooker: LookingOn | None = None,
        service: type[Service] = Service,
    ) -> None:
        self._plane = plane
        self._settings = settings
        parts = (plane, faults, watched, settings, plane.system.random_bytes(8), answers)
        self._service = service(*parts) if onlooker is None else WitnessedService(*parts, onlooker)
        self._connections = Connections(settings.limits)
        self._lane: Lane | None = None
        self._listeners = Listeners(self._connect, settings)
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def port(self) -> int:
        return self._listeners.port

    @property
    def service(self) -> Service:
        """What answers requests, for readers that hand them on."""
        return self._service

    @property
    def connections(self) -> int:
        """How many there are now."""
        return len(self._connections)

    @property
    def waiting(self) -> int:
        """How many GETs are held until there is news."""
        return self._service.reading.waiting

    @property
    def visible(self) -> Callable[[str], Region] | None:
        """What the guests of a scope may see already; None where they see everything at once."""
        return self._service.reading.visible if self._settings.visibility_lag else None

    async def start(self, host: str, port: int) -> None:
        """Listen for guests; port 0 takes any free one."""
        self._begin()
        await self._listeners.start(host, port, self._plane.region, self._lane)
        self._connections.start()

    async def start_on(self, sockets: Sequence[socket.socket]) -> None:
        """Listen at sockets that another process has bound, and nowhere else."""
        self._begin()
        await self._listeners.take(sockets, self._lane)
        self._connections.start()

    async def start_beside(self, sockets: Sequence[socket.socket]) -> None:
        """Listen at the places of VMs alone: other processes have these sockets, and may ask our service."""
        self._begin()
        names = [listening.getsockname() for listening in sockets]
        await self._listeners.leave_main(names, self._plane.region, self._lane)
        self._connections.start()

    def _begin(self) -> None:
        self._unsubscribe = self._plane.subscribe(self._publish)
        self._service.reading.begin()
        if self._settings.short_way and CAN_BE_SHORT:
            self._lane = Lane(self._service, self._settings.limits, self._connections, self._connect)

    async def close(self) -> None:
        """Take no more requests, answer those that came, and go."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        await self._listeners.close()
        lane, self._lane = self._lane, None
        if lane is not None:
            await lane.settle()
        await self._connections.close()
        if lane is not None:
            lane.close()
        await self._service.reading.close()

    def renew(self, at: datetime, held: HeldChange) -> None:
        """The same for a face whose ground is told of changes and not of facts."""
        self._service.reading.renew(held.region, at, held.scopes, held.enabled)
        for vm, binding in held.bindings.items():
            self._listeners.bind(vm, binding)

    def _publish(self, region: Region, records: Sequence[Record]) -> None:
        self._service.reading.publish(region, records)
        self._listeners.publish(region, records)

    def _connect(self, entrance: Entrance, beginning: Beginning | None = None) -> asyncio.Protocol:
        return _CONNECTION(self._service, entrance, self._settings.limits, self._connections, beginning)
