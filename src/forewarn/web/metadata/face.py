"""The metadata face: the service, its connections and its sockets, started and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from forewarn.core.region import Region
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Record
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.asking.callers import Entrance
from forewarn.web.metadata.http.connection import Connection
from forewarn.web.metadata.http.listeners import Listeners
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.service import Service
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.watched import WatchedVms


class MetadataFace:
    """What guests see. ``port`` is the port of the main socket, once it listens."""

    def __init__(self, plane: Plane, faults: FaultRules, watched: WatchedVms, settings: MetadataSettings) -> None:
        self._plane = plane
        self._settings = settings
        self._service = Service(plane, faults, watched, settings, plane.system.random_bytes(8))
        self._connections = Connections(settings.limits)
        self._listeners = Listeners(self._connect, settings)
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def port(self) -> int:
        return self._listeners.port

    @property
    def connections(self) -> int:
        """How many there are now."""
        return len(self._connections)

    @property
    def visible(self) -> Callable[[str], Region] | None:
        """What the guests of a scope may see already; None where they see everything at once."""
        return self._service.reading.visible if self._settings.visibility_lag else None

    async def start(self, host: str, port: int) -> None:
        """Listen for guests; port 0 takes any free one."""
        self._unsubscribe = self._plane.subscribe(self._publish)
        self._service.reading.begin()
        await self._listeners.start(host, port, self._plane.region)
        self._connections.start()

    async def close(self) -> None:
        """Take no more requests, answer those that came, and go."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        await self._listeners.close()
        await self._connections.close()
        await self._service.reading.close()

    def _publish(self, region: Region, records: Sequence[Record]) -> None:
        self._service.reading.publish(region, records)
        self._listeners.publish(region, records)

    def _connect(self, entrance: Entrance) -> asyncio.Protocol:
        return Connection(self._service, entrance, self._settings.limits, self._connections)
