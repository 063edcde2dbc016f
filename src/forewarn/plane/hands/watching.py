"""Listings: the truth about what is at a host, brought to the region; and hosts of which nothing is heard.

What an engine yields as changes are hints. Any of them means: list this host again, at most twice a second, and every
ten seconds without one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

import msgspec

from forewarn.core import commands as c
from forewarn.core.commands import Command
from forewarn.core.machines.values import Listing, MachinePower
from forewarn.core.refusal import Refused
from forewarn.core.region import HostHealth, Region, fold
from forewarn.plane.hands.calls import CallHung
from forewarn.plane.hands.carrying import HAND
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineSettings
from forewarn.plane.hands.sites import Site
from forewarn.plane.ports import JournalFault, Submits
from forewarn.plane.system import ServerSystem

LEAST_SECONDS = 0.5  # between two listings of one host, as the specification has it
_log = logging.getLogger(__name__)


class Watching:
    """Watches one host. Belongs to the loop, apart from what waits for hints."""

    def __init__(
        self, site: Site, settings: MachineSettings, writing: Submits, now: Callable[[], datetime], system: ServerSystem
    ) -> None:
        self._site, self._settings, self._writing, self._now, self._system = site, settings, writing, now, system
        self._hints: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    async def watch_on(self) -> None:
        """List, and wait for a hint or for the time of the next listing."""
        site = self._site
        while True:
            site.to_list.clear()
            host = site.registered(self._writing.region)
            if host is None or not site.may_work:
                site.answered_at = site.listing = None  # whoever begins again has heard nothing yet
            else:
                try:
                    await self._list()
                    self._listen()
                except Exception:  # a fault of ours or of an engine: this host must not be left unwatched for it
                    _log.exception("Host %s could not be looked at; going on with the next listing.", site.name)
            await asyncio.sleep(LEAST_SECONDS)
            await set_within(site.to_list, self._settings.listing_every.total_seconds() - LEAST_SECONDS)

    async def _list(self) -> None:
        site, asked_at, began = self._site, self._now(), self._system.elapsed()
        if site.answered_at is None:
            site.answered_at = began
        try:
            if site.is_choked:
                raise CallHung(f"{site.calls.hung} calls have not come back")
            listing = await site.calls.call(self._settings.call_timeout.total_seconds(), site.engine.listing, site.name)
        except (CallHung, EngineFault) as fault:
            await self._silent(fault)
            return
        if not site.may_work:
            return
        site.answered_at = self._system.elapsed()
        await self._answered(listing, asked_at)

    # What is there

    async def _answered(self, listing: Listing, asked_at: datetime) -> None:
        site, region = self._site, self._writing.region
        host = site.registered(region)
        if host is not None and host.health is HostHealth.SILENT:
            await self._submit(c.HostAnswered(site.name))
        before, site.listing = site.listing, listing
        missed = missing(self._writing.region, listing)
        if missed and (before is None or not missed <= missing(self._writing.region, before)):
            listing = msgspec.structs.replace(listing, complete=False)  # said twice, it is believed
            site.to_list.set()
        sight = c.Sight(site.engine.name, listing, asked_at)
        if self._is_news(sight):
            await self._submit(sight)

    def _is_news(self, sight: c.Sight) -> bool:
        """Whether anything follows from it: most listings say what is known, and are not worth a transaction."""
        try:
            return bool(self._writing.rehearse(self._writing.region, sight)[1])
        except (Refused, JournalFault):
            return False

    async def _submit(self, command: Command) -> None:
        try:
            await self._writing.submit(command, HAND)
        except Refused as refusal:
            _log.info("A %s was refused: %s", type(command).__name__, refusal)
        except JournalFault as fault:
            _log.warning("A %s could not be written, going on with the next: %s", type(command).__name__, fault)

    # Silence

    async def _silent(self, fault: Exception) -> None:
        """No answer this time. For long enough, it is said; for too long, the host is to be turned off."""
        site, settings = self._site, self._settings
        host = site.registered(self._writing.region)
        if host is None or not site.may_work or site.answered_at is None:
            return
        quiet = self._system.elapsed() - site.answered_at
        if host.health is HostHealth.SILENT:
            fenced_after = settings.fence_after if site.fence is not None else None
            is_due = fenced_after is not None and quiet >= fenced_after.total_seconds()
            if is_due and not _is_being_fenced(self._writing.region, site.name):
                await self._submit(c.FenceHost(site.name))
        elif host.health is not HostHealth.FENCED and quiet >= settings.silent_after.total_seconds():
            _log.warning("Host %s has not answered for %d s: %s", site.name, quiet, fault)
            await self._submit(c.HostFellSilent(site.name))

    # Hints

    def _listen(self) -> None:
        """Have hints waited for in a thread, once; again at a later listing where that has ended."""
        if self._hints is None or self._hints.done():
            cursor = "" if self._site.listing is None else self._site.listing.cursor
            self._hints = self._site.calls.begin(self._hear, cursor)

    def _hear(self, cursor: str) -> None:
        try:
            for _ in self._site.engine.changes(self._site.name, cursor):
                if self._loop.is_closed():
                    return
                self._loop.call_soon_threadsafe(self._site.to_list.set)
        except (EngineFault, RuntimeError) as fault:  # the loop may have been closed meanwhile
            _log.debug("No hints from %s: %s", self._site.name, fault)


def missing(region: Region, listing: Listing) -> set[str]:
    """VMs whose machines should be running there, with nothing being done to them, and are not in a complete listing.

    Platforms have been seen to leave one out for a moment, so this is believed when it is said twice in a row.
    """
    host = region.real_host(listing.host)
    if host is None or not listing.complete:
        return set()
    listed = {seen.ref for seen in listing.machines}
    found = ((key, region.machines.get(key)) for key in host.vms)
    return {
        key
        for key, machine in found
        if machine is not None
        and machine.ref
        and machine.ref not in listed
        and machine.power is not MachinePower.OFF
        and fold(machine.host) == fold(listing.host)
    }


def _is_being_fenced(region: Region, name: str) -> bool:
    return any(not each.errand.vm and fold(each.errand.host) == fold(name) for each in region.errands.values())


async def set_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await event.wait()
    except TimeoutError:
        pass
