"""Listings: the truth about what is at a host, brought to the region; and hosts of which nothing is heard.

What an engine yields as changes are hints. Any of them means: list this host again, at most twice a second, and every
ten seconds without one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeAlias

from forewarn.core import commands as c
from forewarn.core.commands import Command
from forewarn.core.machines.values import Listing
from forewarn.core.refusal import Refused
from forewarn.core.region import HostHealth, Region, fold, replace
from forewarn.plane.hands.calls import CallHung
from forewarn.plane.hands.carrying import HAND
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineSettings
from forewarn.plane.hands.sites import Site
from forewarn.plane.ports import JournalFault, Node, Submits
from forewarn.plane.system import ServerSystem

NodesPresent: TypeAlias = Callable[[], Awaitable[Sequence[Node]]]
LEAST_SECONDS = 0.5  # between two listings of one host, as the specification has it
_log = logging.getLogger(__name__)


class Watching:
    """Watches one host. Belongs to the loop, apart from what waits for hints."""

    def __init__(
        self,
        site: Site,
        settings: MachineSettings,
        writing: Submits,
        now: Callable[[], datetime],
        system: ServerSystem,
        present: NodesPresent | None = None,
    ) -> None:
        self._site, self._settings, self._writing, self._now, self._system = site, settings, writing, now, system
        self._present = present
        self._hints: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    async def watch_on(self) -> None:
        """List, and wait for a hint or for the time of the next listing."""
        site = self._site
        while True:
            site.to_list.clear()
            host = site.registered(self._writing.region)
            if host is not None and site.stands_in and self._present is not None:
                await self._look_after()
            elif host is None or not site.may_work:
                site.deserted = False
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
        site.listed_at = began
        await self._answered(listing, asked_at)

    async def _look_after(self) -> None:
        """Another node works there. Where nothing has been heard of that node for ``silent_after``, nobody else would
        say that its host is silent.

        A node that ends unasked stays in the store's list for a minute, so being listed is not enough: it counts as
        heard of when what it announced is newer than what was known.
        """
        site, present = self._site, self._present
        assert present is not None
        try:
            announced = [node.seen_at for node in await present() if fold(node.name) == fold(site.node)]
        except JournalFault as fault:
            _log.debug("Which nodes there are is not known: %s", fault)
            return
        last = max(announced, default=None)
        if site.answered_at is None or last not in (None, site.announced_at):
            site.announced_at, site.answered_at = last, self._system.elapsed()
        quiet = self._system.elapsed() - site.answered_at
        site.deserted = last is None or quiet >= self._settings.silent_after.total_seconds()
        if site.deserted:
            await self._silent(EngineFault(f"node {site.node}, which works there, is gone"))

    # What is there

    async def _answered(self, listing: Listing, asked_at: datetime) -> None:
        site, region = self._site, self._writing.region
        host = site.registered(region)
        if host is not None and host.health is HostHealth.SILENT:
            await self._submit(c.HostAnswered(site.name))
        before, site.listing = site.listing, listing
        told = believed(self._writing.region, listing, before)
        if told.complete is not listing.complete:
            site.to_list.set()  # said twice, it is believed
        sight = c.Sight(site.engine.name, told, asked_at)
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
        """Tell of a host that has not answered for ``silent_after``; order its fence after ``fence_after``."""
        site, settings = self._site, self._settings
        host = site.registered(self._writing.region)
        if host is None or not site.may_fence or site.answered_at is None:
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


def believed(region: Region, listing: Listing, before: Listing | None) -> Listing:
    """The listing, as one that is not complete where it lacks something that the one before it did not lack: engines
    have been seen to leave a machine out for a moment, and not to say so."""
    lacking = missing(region, listing)
    if lacking and (before is None or not lacking <= missing(region, before)):
        return replace(listing, complete=False)
    return listing


def missing(region: Region, listing: Listing) -> set[str]:
    """VMs whose machines could be there, as far as the region knows, and are not in a complete listing."""
    host = region.real_host(listing.host)
    if host is None or not listing.complete:
        return set()
    listed = {seen.ref for seen in listing.machines}
    keys = {*host.vms, *host.reserved, *region.astray}
    found = ((key, region.machines.get(key)) for key in keys)
    return {
        key
        for key, machine in found
        if machine is not None and machine.engine == host.engine and machine.ref and machine.ref not in listed
    }


def _is_being_fenced(region: Region, name: str) -> bool:
    return any(not each.errand.vm and fold(each.errand.host) == fold(name) for each in region.errands.values())


async def set_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await event.wait()
    except TimeoutError:
        pass
