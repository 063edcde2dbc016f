"""Looks for what should not stay so and tells people of it: every node could, the one that leads does.

What stands is looked for every few seconds, and told when it is seen a second time; so is its end. Missed deadlines
come with the facts. What was told is known to this process alone: a node that begins to lead tells once more what
stands then, so that nothing is lost with the one that led before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from forewarn import __version__
from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.guest.agent.telling.channel import Channel, ChannelManners, Pause
from forewarn.guest.agent.values import Notification
from forewarn.guest.system.parts import System
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Record
from forewarn.server.notifying.message import RegionMessage
from forewarn.server.notifying.troubles import Concern, of_events, of_nodes, of_region
from forewarn.settings.errors import CommandFailed
from forewarn.settings.extras import look_for
from forewarn.settings.notification_file import OCCASIONS, NotificationEntry, address_problem

LOOK_SECONDS = 10.0  # ours: what is told has stood for half an hour, or for 30 s
_SHARE = 100  # a look costs at most a hundredth of the time, as the one for figures does
_TRIES = 10  # with the pauses between them four minutes
_CLOSE_SECONDS = 5.0  # ours: what waits may still go out
_log = logging.getLogger("forewarn.notifications")


class Notifier:
    """One region's, on one node."""

    def __init__(
        self,
        plane: Plane,
        notifications: Iterable[Notification],
        system: System,
        *,
        region_name: str = "",
        unread_after: timedelta = timedelta(hours=2),
        look_seconds: float = LOOK_SECONDS,
        pause: Pause | None = None,
    ) -> None:
        self.told: Counter[tuple[str, str]] = Counter()  # kind of channel; sent, failed or dropped
        self._plane, self._region_name, self._unread_after = plane, region_name, unread_after
        self._system, self._look_seconds = system, look_seconds
        self._ending = system.threads.event()
        manners = ChannelManners(_log, self._count, _TRIES, f"forewarn/{__version__}")
        waits = pause or self._ending.wait
        self._channels = [Channel(system, each, manners, waits) for each in notifications]
        self._seen: set[Concern] = set()  # by the last look
        self._standing: dict[tuple[str, str], Concern] = {}  # told, and not over
        self._missed: set[str] = set()  # ids of open events whose deadline was told of
        self._counting = system.threads.lock()

    def _count(self, kind: str, outcome: str) -> None:
        """From the channels' threads."""
        with self._counting:
            self.told[kind, outcome] += 1

    async def watch_on(self) -> None:
        """Until it is cancelled. A look that fails is logged, and the next one is made."""
        stop = self._plane.subscribe(self._published)
        elapsed = self._plane.system.elapsed
        try:
            while True:
                began = elapsed()
                try:
                    await self.look()
                except JournalFault as fault:
                    _log.debug("Nobody can be told which nodes lag: %s", fault)
                except Exception:
                    _log.exception("A look for what people should be told of has failed.")
                await asyncio.sleep(max(self._look_seconds, _SHARE * (elapsed() - began)))
        finally:
            stop()

    async def look(self) -> None:
        """What this node sees; told, where it leads."""
        plane = self._plane
        if not plane.standing.leads:
            self._seen, self._standing, self._missed = set(), {}, set()
            return
        region, reads, now = plane.region, dict(plane.reads.last), plane.now()
        standing = await asyncio.to_thread(_concerns, region, reads, now, self._unread_after)
        missed = await asyncio.to_thread(_missed, region)
        nodes = await plane.membership.nodes()
        if not plane.standing.leads:  # no longer: it is another's to tell
            return
        self._missed = {each for each in self._missed if each in plane.region.events}
        self._tell_missed(missed)
        self._compare(standing.union(of_nodes(nodes, plane.membership.node, now)))

    def _compare(self, found: set[Concern]) -> None:
        now_there = {(each.occasion, each.key): each for each in found}
        before = {(each.occasion, each.key) for each in self._seen}
        new = [each for key, each in now_there.items() if key in before and key not in self._standing]
        over = [each for key, each in self._standing.items() if key not in now_there and key not in before]
        for each in new:
            self._standing[each.occasion, each.key] = each
        for each in over:
            del self._standing[each.occasion, each.key]
        self._seen = found
        self._tell(new)
        self._tell(over, over=True)

    def _published(self, region: Region, records: Sequence[Record]) -> None:
        """Called by the plane after each publication: an event may have come and gone between two looks."""
        started = [record.fact.event_id for record in records if isinstance(record.fact, f.EventStarted)]
        if started and self._plane.standing.leads:
            self._tell_missed(of_events(region.events[each] for each in started if each in region.events))

    def _tell_missed(self, found: Iterable[Concern]) -> None:
        troubles = [each for each in found if each.key not in self._missed]
        self._missed.update(each.key for each in troubles)
        self._tell(troubles)

    def _tell(self, troubles: Sequence[Concern], *, over: bool = False) -> None:
        plane = self._plane
        for occasion in OCCASIONS:
            names = sorted(each.name for each in troubles if each.occasion == occasion)
            if not names:
                continue
            message = RegionMessage(self._region_name, plane.membership.node.name, occasion, names, plane.now(), over)
            _log.info("%s", message.text)
            for channel in self._channels:
                if channel.wants(occasion, OCCASIONS):
                    channel.put(message)

    async def close(self) -> None:
        """Let what waits go out for a while; then nothing is tried again."""
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        for channel in self._channels:
            channel.finish()
        deadline = self._system.clock.monotonic() + _CLOSE_SECONDS
        for channel in self._channels:
            channel.join(max(0.0, deadline - self._system.clock.monotonic()))
        self._ending.set()


def _concerns(region: Region, reads: Mapping[str, datetime], now: datetime, unread_after: timedelta) -> set[Concern]:
    return {*of_region(region, reads, now, unread_after)}


def _missed(region: Region) -> list[Concern]:
    return [*of_events(region.events.values())]


def targets_of(entries: Iterable[NotificationEntry]) -> tuple[Notification, ...]:
    """``CommandFailed`` where an address cannot be read, or a package is not installed."""
    return tuple(_target(each) for each in entries)


def _target(entry: NotificationEntry) -> Notification:
    if entry.kind == "apprise":
        look_for("apprise", 'forewarn serve with a [[notification]] of kind = "apprise"')
    return Notification(entry.kind, _url(entry), entry.on)


def _url(entry: NotificationEntry) -> str:
    if entry.url:
        return entry.url
    path = Path(entry.url_file)
    try:
        url = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not text"
        raise CommandFailed(f"the address of a notification cannot be read from {path}: {why}.") from None
    if problem_there := address_problem(entry.kind, url):
        raise CommandFailed(f"the address of a notification in {path} {problem_there}.")
    return url
