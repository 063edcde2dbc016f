"""When snapshots are written: often enough that a start is short, in a thread beside everything else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from forewarn.core.region import Region
from forewarn.plane.ports import Journal, JournalFault
from forewarn.plane.system import SYSTEM

# Ours: 100 000 facts by default, which a start reads in some three seconds
_WHILE_TURNED = 5
_log = logging.getLogger(__name__)


class Snapshots:
    """One at a time, in a thread: after every so many facts, or as many as there are VMs where that is more.

    ``seq`` is the record that the last one stands for.
    """

    def __init__(self, journal: Journal, seq: int, every: int, elapsed: Callable[[], float] = SYSTEM.elapsed) -> None:
        self._journal = journal
        self._every = every
        self.seq = seq
        self._elapsed = elapsed
        self._kept_at: float | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._longer = 1  # how many times ``every`` may come between two

    @property
    def age_seconds(self) -> float | None:
        """Since this process last kept one; None before that."""
        return None if self._kept_at is None else self._elapsed() - self._kept_at

    @contextmanager
    def put_off(self) -> Iterator[None]:
        """While a clock is turned: hours pass in a moment, and several snapshots of them would cost a tenth as much.

        What was put off is kept with the first write after that, if it is time then.
        """
        self._longer = _WHILE_TURNED
        try:
            yield
        finally:
            self._longer = 1

    def consider(self, region: Region, seq: int) -> None:
        """Keep one if it is time."""
        if self._keeping is None and seq - self.seq > max(self._every * self._longer, len(region.vms)):
            self._keeping = asyncio.create_task(self._keep(region, seq))

    async def close(self, region: Region, seq: int) -> None:
        """Finish the one that is under way, and keep a last one if anything has happened since."""
        if self._keeping is not None:
            await self._keeping
        if seq > self.seq:
            await self._keep(region, seq)

    async def _keep(self, region: Region, seq: int) -> None:
        try:
            await asyncio.to_thread(self._journal.snapshot, region, seq)
            self.seq, self._kept_at = seq, self._elapsed()
        except JournalFault as fault:
            _log.warning("A snapshot could not be kept; the facts are safe, the next start will take longer: %s", fault)
        except Exception:
            _log.exception("A snapshot could not be kept; the facts are safe, the next start will take longer.")
        finally:
            self._keeping = None
