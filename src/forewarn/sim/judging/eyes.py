"""What guests may be answered: held, byte for byte, against what the oracle says that their scope's documents were."""

from __future__ import annotations

import json
from collections import Counter
from email.utils import parsedate_to_datetime
from typing import Any

from forewarn.guest.http1 import OutgoingRequest, Response
from forewarn.guest.watch import Ended, Ending, Watcher
from forewarn.sim.circumstances import DELAYING, SLACK_SECONDS, Blame, Circumstances
from forewarn.sim.oracle import API_VERSIONS, Oracle, Paper
from forewarn.wire.document import decode_document

_REMEMBERED = 200  # ours: documents of a scope, or numbers that a VM has seen, that may still be under way
_DAY = 86_400.0  # Azure's span after which an unread scope is disabled, in seconds
_FORGETTING = frozenset({"crash", "store"})  # the journal hears of reads once an hour; until then they can be lost
_WITHHOLDING = DELAYING | {"store"}  # who is cut off from it has no news to tell to those who wait
_CLOCKS_ARE_WRONG_BY = 180.0  # misfortunes set the clocks of VMs off by 150 s at most
_FEED = "/metadata/scheduledevents"


class _Known:
    """One document that a scope has had."""

    def __init__(self, number: int, paper: Paper, since: float) -> None:
        self.number, self._paper, self.since = number, paper, since
        self.over_at: float | None = None  # when a newer one took its place
        self._bodies: dict[str, bytes] = {}

    def body(self, api_version: str) -> bytes:
        if api_version not in self._bodies:
            self._bodies[api_version] = self._paper.body(api_version, self.number)
        return self._bodies[api_version]


class Eyes:
    """Compares every answer of the metadata service with what it should have been."""

    def __init__(
        self,
        world: Circumstances,
        oracle: Oracle,
        blame: Blame,
        counts: Counter[str],
        *,
        behind_seconds: float,
        many_nodes: bool,
    ) -> None:
        """``behind_seconds`` is what a node may lag behind the journal by its settings."""
        self._world, self._oracle, self._blame, self._counts = world, oracle, blame, counts
        self._oldest, self._many_nodes = SLACK_SECONDS + behind_seconds, many_nodes
        self._known: dict[str, dict[int, _Known]] = {}  # by scope and number
        self._latest: dict[str, _Known] = {}
        self._seen: dict[str, list[tuple[float, int]]] = {}  # VM -> when it saw a higher number than ever, and which
        self._watchers: dict[str, Watcher] = {}
        self.endings: dict[str, str] = {}  # event -> completed or canceled
        self._read_at: dict[str, float] = {}  # scope -> when a VM of it was last answered

    # What was to be seen

    def keep(self, scope: str, number: int) -> None:
        """Note that the scope's document has this number from now on."""
        latest = self._latest.get(scope)
        if latest is not None and latest.number == number:
            return
        known = self._known.setdefault(scope, {})
        if latest is not None and latest.over_at is None:
            latest.over_at = self._world.ticks()
        self._latest[scope] = known[number] = _Known(number, self._oracle.paper(scope), self._world.ticks())
        while len(known) > _REMEMBERED:
            del known[next(iter(known))]

    def disabled(self, scope: str) -> None:
        """A scope was disabled: from now on it has no document. Right only if none of its VMs has read for a day."""
        latest = self._latest.get(scope)
        if latest is not None:
            latest.over_at = self._world.ticks()
        read_at = self._read_at.get(scope, -1e9)
        ago = self._world.ticks() - read_at
        if ago < _DAY - SLACK_SECONDS and not self._world.disturbed("", read_at, _FORGETTING):
            self._blame("law", f"{scope} was disabled, and was answered {ago:.0f} s ago", scope)

    def forget(self, vm: str) -> None:
        """A VM of the same name may come again; its programs start anew."""
        self._seen.pop(vm, None)
        self._watchers.pop(vm, None)

    def moved(self, vm: str) -> None:
        """Forget what a VM has seen: from now on it asks another server, which may be behind within the bound."""
        self._seen.pop(vm, None)

    def restarted(self, vm: str) -> None:
        self._watchers.pop(vm, None)

    # What was seen

    def saw(self, vm: str, request: OutgoingRequest, response: Response, asked_at: float) -> None:
        """A guest has got an answer."""
        self._counts["answers"] += 1
        machine = self._oracle.memory.machines.get(vm)
        if machine is None or not request.target.startswith(_FEED):
            return
        self._on_time(vm, response)
        if request.verb == "POST":
            self._approval(vm, machine.scope, request, response)
        elif response.status == 304:
            self._unchanged(vm, machine.scope, request, response, asked_at)
        elif response.status == 200 and response.body:
            self._document(vm, machine.scope, request, response, asked_at)

    def tried(self, vm: str, what: str, request: OutgoingRequest, response: Response) -> None:
        """A guest has asked for something that is forbidden to all guests."""
        self._counts["answers"] += 1
        self._counts["forbidden things tried"] += 1
        if 200 <= response.status < 300:
            told = f"{vm} tried {what} ({request.verb} {request.target}) and was answered {response.status}"
            self._blame("forbidden", told, f"vm/{vm}")

    def _on_time(self, vm: str, response: Response) -> None:
        """The Date of an answer is the region's time, within what its servers' clocks are off by."""
        told = parsedate_to_datetime(response.headers["date"])
        gap = self._world.ticks() - self._world.seconds(told)
        late = self._world.disturbed(vm, self._world.ticks() - 600.0, DELAYING)
        if gap < -_CLOCKS_ARE_WRONG_BY or (gap > _CLOCKS_ARE_WRONG_BY and not late):
            self._blame("date", f"{vm} was told that it is {told:%F %T}, which is {gap:.0f} s ago", f"vm/{vm}")

    def _approval(self, vm: str, scope: str, request: OutgoingRequest, response: Response) -> None:
        """What was answered with 200 is on disk; what the scope can see and may approve is not refused."""
        for asked in json.loads(request.body)["StartRequests"]:
            work = self._oracle.memory.works.get(str(asked["EventId"]).upper())
            if work is None or not work.pending or work.scope != scope:
                continue
            if response.status == 200 and not work.approved:
                self._blame("acknowledged", f"{vm} was told that {work.id} is approved, and it is not", work.id)
            if response.status == 400 and work.shown and not self._many_nodes:
                self._blame("refused", f"{vm} may approve {work.id} and was answered {response.body!r}", work.id)

    def _unchanged(self, vm: str, scope: str, request: OutgoingRequest, response: Response, asked_at: float) -> None:
        """A 304 is right only for a caller that has the present document."""
        self._counts["answers without news"] += 1
        tag = response.headers.get("etag", "").strip('"')
        asked = dict(request.headers).get("If-None-Match", "")
        known = self._known.get(scope, {}).get(int(tag)) if tag.isdigit() else None
        if known is None or tag not in asked.replace('"', " ").replace(",", " ").split():
            told = f"{vm} has {asked} and was told that nothing has changed since {tag or 'nothing'}"
            self._blame("wire", told, scope)
            return
        self._read_at[scope] = asked_at
        self._in_time(vm, known, scope)

    def _document(self, vm: str, scope: str, request: OutgoingRequest, response: Response, asked_at: float) -> None:
        self._counts["documents seen"] += 1
        version = request.target.rpartition("api-version=")[2]
        self._counts["documents in old versions"] += version != API_VERSIONS[-1]
        number = _number_of(response.body)
        known = self._known.get(scope, {}).get(number)
        if known is None or response.body != known.body(version):
            wanted = "no such number" if known is None else f"{known.body(version)!r}"
            told = f"{vm} saw a document {number} that never was: {response.body!r}; in truth: {wanted}"
            self._blame("wire", told, scope)
            return
        if response.headers.get("etag") != f'"{number}"':
            told = f"document {number} came to {vm} with the ETag {response.headers.get('etag')}"
            self._blame("wire", told, scope)
        self._read_at[scope] = asked_at
        self._in_order(vm, number, scope, asked_at)
        self._in_time(vm, known, scope)
        self._at_once(vm, known, scope, asked_at)
        if version == API_VERSIONS[-1]:
            self._watch_endings(vm, response)

    def _in_order(self, vm: str, number: int, scope: str, asked_at: float) -> None:
        """Numbers never go back: what is asked for after a number was seen is answered with it or a higher one.

        Of two programs in one VM, one may hear of what was asked for earlier after the other has heard of more.
        """
        seen = self._seen.setdefault(vm, [])
        if not seen or number > seen[-1][1]:
            seen.append((self._world.ticks(), number))
            del seen[:-_REMEMBERED]
            return
        last = max((known for at, known in seen if at <= asked_at), default=0)
        if number < last:
            self._counts["documents seen again by an older node"] += 1
            if not self._many_nodes:  # another node may be behind, within its bound
                self._blame("wire", f"{vm} saw document {number} after document {last}", scope)

    def _in_time(self, vm: str, known: _Known, scope: str) -> None:
        """A document that was replaced long ago is shown no more, unless the answer itself was long under way."""
        age = 0.0 if known.over_at is None else self._world.ticks() - known.over_at
        if age > self._oldest and not self._world.disturbed(vm, known.over_at or 0.0, DELAYING):
            told = f"{vm} was told of document {known.number}, which was not true any more for {age:.0f} s"
            self._blame("stale", told, scope)

    def _at_once(self, vm: str, known: _Known, scope: str, asked_at: float) -> None:
        """A GET that waits is answered as soon as the document changes."""
        waited = self._world.ticks() - known.since
        excused = self._world.disturbed(vm, known.since, _WITHHOLDING)
        if asked_at < known.since and waited > self._oldest and not excused:
            told = f"{vm} waited for news, and document {known.number} came to it {waited:.0f} s after it was there"
            self._blame("late", told, scope)

    def _watch_endings(self, vm: str, response: Response) -> None:
        """What production's ``Watcher`` says of an event's end is true, or is "unknown"."""
        at, document = self._world.truth.latest_at, decode_document(response.body)
        assert at is not None
        assert document is not None
        watcher = self._watchers.setdefault(vm, Watcher())
        for change in watcher.see(document, at):
            if isinstance(change, Ended):
                self._counts[f"ends watched: {change.how}"] += 1
                truth = self.endings.get(change.event.event_id)
                if change.how is not Ending.UNKNOWN and change.how.value != truth:
                    told = f"to {vm}, {change.event.event_id} seemed {change.how}; in truth it was {truth}"
                    self._blame("watcher", told, change.event.event_id)


def _number_of(body: bytes) -> int:
    try:
        told: Any = json.loads(body)
        return int(told["DocumentIncarnation"])
    except (ValueError, KeyError, TypeError):
        return -1
