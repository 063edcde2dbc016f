"""From documents to changes. Pure: documents and instants in, changes out.

A document shows what is, not what happened, and an event that has ended is just absent: completed and canceled look
the same. What can still be known is worked out here, and what cannot be is called unknown. Library and agent both
look through this: there is no second memory of documents.

The life of an event is ``Appeared`` → ``Changed``* → ``Started`` → ``Ended``, in this order; only ``Appeared`` and
``Ended`` are certain to be told, because a start may fall between two looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.guest.versions import PREFER_AGAIN_SECONDS
from forewarn.terms import Document, EventStatus, ScheduledEvent
from forewarn.wire.versions import NEWEST, find

# How long an event is believed to be there that the api-version in use cannot show: until the newest was tried again.
HIDDEN_AT_MOST = timedelta(seconds=PREFER_AGAIN_SECONDS + 60)
_HIDDEN = "it was scheduled when last seen, and the api-version in use since then does not show its type"


class Ending(StrEnum):
    """How an event left the document."""

    COMPLETED = "completed"
    CANCELED = "canceled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Change:
    """Something happened to an event. ``event`` is as it was last seen, ``at`` the time of the look that showed it."""

    event: ScheduledEvent
    at: datetime


@dataclass(frozen=True, slots=True)
class Appeared(Change):
    """First sight, in whatever state: a failure of hardware appears already started, and ``Started`` follows."""


@dataclass(frozen=True, slots=True)
class Changed(Change):
    """It is not as it was ``before``, and not just by starting. The service promises never to do that."""

    before: ScheduledEvent


@dataclass(frozen=True, slots=True)
class Started(Change):
    """The impact may begin at any moment, or has."""


@dataclass(frozen=True, slots=True)
class Ended(Change):
    """It is no longer in the document; there will be no more impact of it. ``why`` says how that is known, or not."""

    how: Ending
    why: str


@dataclass(frozen=True, slots=True)
class _Sight:
    event: ScheduledEvent
    started: bool
    hidden_since: datetime | None = None  # the look from which on an older api-version could not show it


class Watcher:
    """Remembers what was last seen. One for each reader; feed it every document, in the order they came."""

    def __init__(self) -> None:
        self._seen: dict[str, _Sight] = {}
        self._incarnation = 0  # 0: nothing that the next one can be compared with

    @property
    def events(self) -> tuple[ScheduledEvent, ...]:
        """What is known to be in the document now."""
        return tuple(sight.event for sight in self._seen.values())

    def remember(self, event: ScheduledEvent) -> None:
        """Take up what an earlier process had seen, so that its end is noticed. How it ended may then be unknown."""
        self._seen[_key(event)] = _Sight(event, is_started(event))
        self._incarnation = 0

    def see(self, document: Document | None, at: datetime, api_version: str = "") -> tuple[Change, ...]:
        """What has changed since the last document. None, an answer that told nothing, changes nothing.

        What is new comes before what has ended: who restores on an end should know first of the next thing to come.
        ``api_version`` is the one it was read with. An event of a type that an older one does not show is not gone
        when that one does not show it; for an hour it is believed to be as it was.
        """
        if document is None:
            return ()
        shown = {_key(event): event for event in reversed(document.events)}
        step = document.incarnation - self._incarnation if self._incarnation > 0 else 0
        news = [change for key in reversed(shown) for change in self._look(key, shown[key], at)]
        gone = [key for key in self._seen if key not in shown and not self._is_hidden(key, at, api_version)]
        ends = [self._end(key, step, at) for key in gone]
        self._incarnation = document.incarnation
        return (*news, *ends)

    def _look(self, key: str, event: ScheduledEvent, at: datetime) -> Iterator[Change]:
        before = self._seen.get(key)
        if before is not None:
            event = _merged(before, event)
        started = is_started(event)
        self._seen[key] = _Sight(event, started)
        if before is None:
            yield Appeared(event, at)
        elif _differs(before.event, event):
            yield Changed(event, at, before.event)
        if started and (before is None or not before.started):
            yield Started(event, at)

    def _is_hidden(self, key: str, at: datetime, api_version: str) -> bool:
        version, sight = find(api_version), self._seen[key]
        if version is None or sight.event.type in version.types or sight.event.type not in NEWEST.types:
            return False
        since, not_before = sight.hidden_since or at, sight.event.not_before
        self._seen[key] = replace(sight, hidden_since=since)
        is_long_over = not_before is not None and at - not_before > HIDDEN_AT_MOST  # also for an agent that restarted
        return at - since <= HIDDEN_AT_MOST and not is_long_over

    def _end(self, key: str, step: int, at: datetime) -> Ended:
        sight = self._seen.pop(key)
        if sight.hidden_since is not None and not sight.started:
            return Ended(sight.event, at, Ending.UNKNOWN, _HIDDEN)
        how, why = judge(sight.event, started=sight.started, step=step, at=at)
        return Ended(sight.event, at, how, why)


def judge(event: ScheduledEvent, *, started: bool, step: int, at: datetime) -> tuple[Ending, str]:
    """How an event that is gone has ended, and how that is known.

    ``step`` is by how much the incarnation grew between the last document that had it and the first that has not;
    0 or less where the two cannot be compared. Every start and every end counts one, seen or not: a step of one from
    scheduled to gone leaves no room for a start. Beyond that nothing is certain: any VM of the scope may have approved.
    """
    if started:
        return Ending.COMPLETED, "it had started, and what has started is not canceled"
    if step == 1 and event.not_before is not None and at < event.not_before:
        return Ending.CANCELED, "it went from scheduled to gone in a single change, so it never started"
    if step <= 0:
        return Ending.UNKNOWN, "it was scheduled when last seen, and the incarnation has started over since"
    if event.not_before is None or at >= event.not_before:
        return Ending.UNKNOWN, "it was scheduled when last seen, and may have started and completed since"
    return Ending.UNKNOWN, "it was scheduled when last seen; somebody may have approved it, and it may have completed"


def is_started(event: ScheduledEvent) -> bool:
    """Whether its state is Started, in upper or lower case. An unknown state is not."""
    return event.status.casefold() == EventStatus.STARTED.casefold()


def _key(event: ScheduledEvent) -> str:
    """The service writes ids in upper case and the rest of the world does not."""
    return event.event_id.upper()


def _merged(before: _Sight, event: ScheduledEvent) -> ScheduledEvent:
    """What is seen now, with the fields that only an earlier answer told.

    A host that falls back to an older api-version tells less, and nothing has changed by that. A started event never
    goes back: a document that says so is older than the one before.
    """
    known = before.event
    same_names = _bare_names(known) == _bare_names(event)
    stale = before.started and not is_started(event)
    not_before = event.not_before
    if not_before is None and not is_started(event):
        not_before = known.not_before
    return replace(
        event,
        resources=known.resources if same_names else event.resources,
        status=known.status if stale else event.status,
        not_before=known.not_before if stale else not_before,
        description=known.description if event.description is None else event.description,
        source=known.source if event.source is None else event.source,
        duration_seconds=known.duration_seconds if event.duration_seconds is None else event.duration_seconds,
    )


def _bare_names(event: ScheduledEvent) -> list[str]:
    """The first api-version writes an underscore before every name, which is none of it."""
    return [name.strip().removeprefix("_") for name in event.resources]


def _differs(before: ScheduledEvent, event: ScheduledEvent) -> bool:
    """Whether more has changed than that it started, which takes the time out of it; spelling aside."""
    if is_started(event):
        before = replace(before, status=event.status, not_before=event.not_before)
    same = replace(before, event_id=event.event_id)
    return replace(same, status=same.status.casefold()) != replace(event, status=event.status.casefold())
