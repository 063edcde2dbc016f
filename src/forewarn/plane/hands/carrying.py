"""Errands on their way: what is due is tried, and what became of it is reported, until the region has it no more.

The order of every step: fact on disk, look, leave asked, one change, look, fact. The middle is the engine's part.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from forewarn.core import commands as c
from forewarn.core.looking.errands import due_errands, is_due
from forewarn.core.machines.values import (
    Errand,
    ErrandKind,
    ErrandOutcome,
    ErrandReport,
    MachinePower,
    OpenErrand,
    Sighting,
)
from forewarn.core.refusal import Refused
from forewarn.core.region import HostHealth, RealHost, Region, replace
from forewarn.plane.hands.calls import CallHung
from forewarn.plane.hands.engine import Done, EngineFault, ErrandResult, Failed, NotYet, Unknown
from forewarn.plane.hands.settings import MachineSettings
from forewarn.plane.hands.sites import Site, Sites
from forewarn.plane.ports import JournalFault, Origin, Submits
from forewarn.plane.system import ServerSystem

HAND = Origin("driver", "hand")  # an older word for the engine, which journals and ``--door`` know
_FIRST_SECONDS, _MOST_SECONDS = 1.0, 60.0  # between two tries, doubled each time; Kubernetes restarts: 10 s to 300 s
_CALLS_EACH = 4  # calls that one errand may need in a row, each with its own deadline inside the engine
# Asked for again while an earlier process's call is under way, these would be done twice.
_NOT_AT_ONCE = frozenset({ErrandKind.RESTART, ErrandKind.REDEPLOY, ErrandKind.REIMAGE})
_log = logging.getLogger(__name__)


@dataclass
class HandsWarrant:
    """The warrant for one call. Once the call is given up, it allows nothing more, even if its thread goes on."""

    again: bool
    _until: datetime | None
    _now: Callable[[], datetime]
    _may_work: Callable[[], bool]
    revoked: bool = False

    def may(self) -> bool:
        """Ending a pause is always right, also for a process that has lost the lead or its journal."""
        if self.revoked:
            return False
        return self._may_work() or (self._until is not None and self.left() <= 0)

    def left(self) -> float:
        return 0.0 if self._until is None else (self._until - self._now()).total_seconds()


def as_engines_want_it(errand: Errand, region: Region) -> Errand:
    """The errand with its machine's definition and the hosts that are off or silent, which errands in facts lack."""
    machine = region.machines.get(errand.vm)
    if machine is None:
        return errand
    hosts = [region.hosts[number] for number in region.real_hosts.values()]
    theirs = [each for each in hosts if isinstance(each, RealHost) and each.engine == errand.engine]
    off_at = (each.name for each in theirs if not each.takes_part or each.health is HostHealth.FENCED)
    unheard = (each.name for each in theirs if each.health is HostHealth.SILENT)
    return replace(errand, definition=machine.definition, off_at=tuple(off_at), unheard=tuple(unheard))


def _may(site: Site, errand: Errand) -> bool:
    """A host whose own node is gone with it can only be fenced from elsewhere."""
    return site.may_fence if errand.kind is ErrandKind.FENCE else site.may_work


class Carrying:
    """One task for each errand that is due at the hosts of this process. Belongs to the loop."""

    def __init__(
        self,
        sites: Sites,
        settings: MachineSettings,
        writing: Submits,
        now: Callable[[], datetime],
        system: ServerSystem,
        look_again: Callable[[], None],
    ) -> None:
        self._sites, self._settings, self._writing = sites, settings, writing
        self._now, self._system, self._look_again = now, system, look_again
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._mine: set[str] = set()  # errands that this process has tried itself
        self._unsure: dict[str, float] = {}  # errands whose call hung, by ``elapsed``: it may have been done by now
        self._closed = False

    def look(self) -> None:
        """Take up what is due and not in hand."""
        region = self._writing.region
        due = () if self._closed else due_errands(region)
        for errand in sorted((found.errand for found in due), key=lambda errand: (errand.made_at, errand.id)):
            site = self._sites.of(errand)
            if (
                errand.id in self._tasks
                or site is None
                or not _may(site, errand)
                or self._sites.blocked(errand, region)
            ):
                continue
            self._tasks[errand.id] = asyncio.get_running_loop().create_task(self._hold(site, errand.id))

    async def close(self) -> None:
        """Stop working. Errands stay open for the next process; pauses are ended, as there may be no next one."""
        self._closed = True
        pauses = [errand for errand in map(self._open, sorted(self._mine)) if errand is not None]
        for task in [*self._tasks.values()]:
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        ending = [self._abandoned(each.errand) for each in pauses if each.errand.kind is ErrandKind.PAUSE]
        await asyncio.gather(*ending, return_exceptions=True)

    # One errand

    async def _hold(self, site: Site, errand_id: str) -> None:
        try:
            await self._carry(site, errand_id)
        except Exception:
            _log.exception("Carrying out errand %s failed; going on in a moment.", errand_id)
            await asyncio.sleep(_MOST_SECONDS)
        finally:
            del self._tasks[errand_id]
            self._look_again()  # it may be due again by now, or for this process

    async def _carry(self, site: Site, errand_id: str) -> None:
        """Work on an errand until it is over, or no longer this process's to carry out."""
        began, pause = self._system.elapsed(), _FIRST_SECONDS
        found = self._open(errand_id)
        if found is not None and self._may_be_under_way(found):
            await asyncio.sleep(self._call_seconds(found.errand))
        while (found := self._due(errand_id)) is not None:
            site = self._sites.of(found.errand) or site  # it may have been placed anew
            if self._is_unsure(found.errand):
                await asyncio.sleep(_FIRST_SECONDS)
                continue
            if found.errand.kind is ErrandKind.MIGRATE and self._is_late(began):
                result: ErrandResult = await self._end_late(found.errand)
            else:
                tried = await self._try(site, found, began)
                if tried is None:
                    return
                result = tried
            seconds = await self._tell(site, found.errand, result, began)
            if seconds is None:
                seconds, pause = pause * self._jitter(), min(2 * pause, _MOST_SECONDS)
            await asyncio.sleep(seconds)
        self._mine.discard(errand_id)
        if found is None and self._open(errand_id) is None:
            self._unsure.pop(errand_id, None)

    def _may_be_under_way(self, found: OpenErrand) -> bool:
        """Whether a call of another process, which may be dead by now, could be doing it at this moment."""
        tried_elsewhere = found.tried_at is not None and found.errand.id not in self._mine
        return tried_elsewhere and found.errand.kind in _NOT_AT_ONCE

    def _is_unsure(self, errand: Errand) -> bool:
        """Whether a call hung, and the hosts have not been listed since: what it was to do may be done yet."""
        since = self._unsure.get(errand.id)
        if since is None or errand.kind in (ErrandKind.PAUSE, ErrandKind.FENCE):
            return False
        waiting = [site for site in self._sites.needed(errand) if site.listed_at < since]
        for site in waiting:
            site.to_list.set()
        return bool(waiting)

    def _due(self, errand_id: str) -> OpenErrand | None:
        """The errand, as long as it is this process's to do. A pause that was begun here is ended here in any case."""
        found, region = self._open(errand_id), self._writing.region
        if found is None or not is_due(region, found):
            return None
        if found.errand.kind is ErrandKind.PAUSE and errand_id in self._mine:
            return found
        site = self._sites.of(found.errand)
        free = site is not None and _may(site, found.errand) and not self._sites.blocked(found.errand, region)
        return found if free else None

    def _open(self, errand_id: str) -> OpenErrand | None:
        return self._writing.region.errands.get(errand_id)

    async def _try(self, site: Site, found: OpenErrand, began: float) -> ErrandResult | None:
        """One try, which is on disk before the engine hears of it. None where the region does not want it any more."""
        errand, again = as_engines_want_it(found.errand, self._writing.region), found.tried_at is not None
        if not again:
            try:
                await self._writing.submit(c.TryErrand(errand.id), HAND)
            except Refused:
                await asyncio.sleep(_FIRST_SECONDS)
                return None
            except JournalFault as fault:
                return NotYet(f"It could not be written down: {fault}", _FIRST_SECONDS)
        self._mine.add(errand.id)
        if errand.kind is ErrandKind.FENCE:
            return await self._fence(site, errand)
        warrant = HandsWarrant(again, errand.until, self._now, lambda: site.may_work)
        if errand.kind is ErrandKind.PAUSE:  # the only state that harms by being forgotten waits for no other
            return await self._call(site, errand, warrant)
        async with site.places:
            return await self._call(site, errand, warrant)

    async def _call(self, site: Site, errand: Errand, warrant: HandsWarrant) -> ErrandResult:
        ends = errand.kind is ErrandKind.PAUSE and warrant.left() <= 0  # that is asked for at a choked host too
        if site.is_choked and not ends:
            return NotYet(f"{site.calls.hung} calls into {site.name} have not come back.", _MOST_SECONDS)
        try:
            return await site.calls.call(self._call_seconds(errand), site.engine.carry_out, errand, warrant)
        except (CallHung, EngineFault) as fault:
            return Unknown(str(fault))
        except Exception as fault:
            _log.exception("Engine %s failed with errand %s (%s).", site.engine.name, errand.id, errand.kind)
            return Unknown(f"The engine failed: {fault}")
        finally:
            warrant.revoked = True

    async def _fence(self, site: Site, errand: Errand) -> ErrandResult:
        """Turn a host off by its fence, only while it is still silent."""
        host = site.registered(self._writing.region)
        if site.fence is None or host is None or host.health is not HostHealth.SILENT:
            return NotYet(f"Nothing turns off {site.name}.", _MOST_SECONDS)
        try:
            await site.calls.call(self._call_seconds(errand), site.fence)
        except (CallHung, EngineFault) as fault:
            return Failed(str(fault), lasting=False)
        return Done(Sighting("", errand.host, MachinePower.OFF))

    async def _tell(self, site: Site, errand: Errand, result: ErrandResult, began: float) -> float | None:
        """Tell the region what became of it. The seconds until the next try; None: longer each time."""
        match result:
            case NotYet(again_after=seconds) if not self._is_overdue(errand, began):
                return max(seconds, 0.0)
            case NotYet(why):
                report = ErrandReport(ErrandOutcome.NOT_YET, why)
            case Done(sighting):
                report = ErrandReport(ErrandOutcome.DONE, sighting=sighting)
            case Failed(why, lasting):
                report = ErrandReport(ErrandOutcome.FAILED, why, lasting)
            case Unknown(why):
                self._unsure[errand.id] = self._system.elapsed()
                site.to_list.set()
                report = ErrandReport(ErrandOutcome.UNKNOWN, why)
        try:
            await self._writing.submit(c.ReportErrand(errand.id, report), HAND)
        except JournalFault as fault:
            _log.warning("What became of errand %s could not be written, trying again: %s", errand.id, fault)
        return 0.0 if self._open(errand.id) is None else None

    async def _end_late(self, errand: Errand) -> ErrandResult:
        """Abort a migration whose time is over. It is given up only then: one that goes on moves the machine."""
        late = f"It was not done within {self._settings.migration_timeout}"
        fault = await self._abandoned(errand)
        return Failed(f"{late} and has been aborted.", True) if not fault else Unknown(f"{late}, nor aborted: {fault}")

    async def _abandoned(self, errand: Errand) -> str:
        """Have an engine leave off an errand, and tell why it did not, if so."""
        site = self._sites.of(errand)
        if site is None:
            return ""
        try:
            await site.calls.call(self._settings.call_timeout.total_seconds(), site.engine.abandon, errand)
        except (CallHung, EngineFault) as fault:
            _log.warning("Errand %s (%s) could not be abandoned: %s", errand.id, errand.kind, fault)
            return str(fault)
        return ""

    def _is_overdue(self, errand: Errand, began: float) -> bool:
        """Whether the region is to hear that it is not done yet; from then on it is tried less and less often."""
        patience = errand.patience.total_seconds()
        kind_waits = errand.kind in (ErrandKind.PAUSE, ErrandKind.MIGRATE)
        return bool(patience) and not kind_waits and self._system.elapsed() - began > patience

    def _is_late(self, began: float) -> bool:
        return self._system.elapsed() - began > self._settings.migration_timeout.total_seconds()

    def _call_seconds(self, errand: Errand) -> float:
        """The hand's own deadline, beyond those that the engine has for each call."""
        return (errand.grace + _CALLS_EACH * self._settings.call_timeout).total_seconds()

    def _jitter(self) -> float:
        """Between a half and one and a half, so that many errands do not come back at one instant."""
        return 0.5 + int.from_bytes(self._system.random_bytes(2)) / 0xFFFF
