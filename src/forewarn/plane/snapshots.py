"""When snapshots are written: often enough that a start is short, in a thread beside everything else."""

from __future__ import annotations

import asyncio
import logging

from forewarn.core.region import Region
from forewarn.plane.ports import Journal, JournalFault

_log = logging.getLogger(__name__)


class Snapshots:
    """One at a time, in a thread: after every so many facts, or as many as there are VMs where that is more.

    ``kept_seq`` is the record that the last one stands for.
    """

    def __init__(self, journal: Journal, kept_seq: int, every: int) -> None:
        self._journal = journal
        self._every = every
        self._kept_seq = kept_seq
        self._keeping: asyncio.Task[None] | None = None

    def consider(self, region: Region, seq: int) -> None:
        """Keep one if it is time."""
        if self._keeping is None and seq - self._kept_seq > max(self._every, len(region.vms)):
            self._keeping = asyncio.create_task(self._keep(region, seq))

    async def close(self, region: Region, seq: int) -> None:
        """Finish the one that is under way, and keep a last one if anything has happened since."""
        if self._keeping is not None:
            await self._keeping
        if seq > self._kept_seq:
            await self._keep(region, seq)

    async def _keep(self, region: Region, seq: int) -> None:
        try:
            await asyncio.to_thread(self._journal.snapshot, region, seq)
            self._kept_seq = seq
        except JournalFault as fault:
            _log.warning("A snapshot could not be kept; the facts are safe, the next start will take longer: %s", fault)
        except Exception:
            _log.exception("A snapshot could not be kept; the facts are safe, the next start will take longer.")
        finally:
            self._keeping = None
