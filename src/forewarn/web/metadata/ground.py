"""What the metadata face stands on: a plane, or what a relay holds of one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from forewarn.core.commands import Approve
from forewarn.core.region import Region, Vm
from forewarn.plane.ports import Origin, Published
from forewarn.plane.system import ServerSystem
from forewarn.plane.writing import Listener


class SlowClock(Protocol):
    """The region's time."""

    def now(self) -> datetime: ...

    async def sleep_until(self, at: datetime) -> None: ...


class Currency(Protocol):
    """Whether what is known is current. ``current_until`` is by the system's ``elapsed``."""

    @property
    def current_until(self) -> float: ...

    @property
    def stale(self) -> str:
        """Why it may not be, as a sentence; empty as long as it is."""


class Ground(Protocol):
    """Reads are free: ``published`` has the newest state. What changes something is on disk when it returns."""

    @property
    def published(self) -> Published: ...

    @property
    def standing(self) -> Currency: ...

    @property
    def clock(self) -> SlowClock: ...

    @property
    def system(self) -> ServerSystem: ...

    @property
    def region(self) -> Region: ...

    @property
    def seq(self) -> int: ...

    def now(self) -> datetime: ...

    def read_by(self, name: str) -> datetime:
        """Note that the VM of this name has read, and when: as of a moment ago, see ``Clock.lately``."""

    async def enable(self, vm: Vm, request_id: str = "") -> None:
        """The first read of a scope."""

    async def submit(self, command: Approve, origin: Origin) -> Any:
        """An approval. ``Refused`` and ``JournalFault`` mean that nothing changed; after ``Uncertain`` it may have."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` on the loop after each publication, with the new records. Returns how to end that."""
