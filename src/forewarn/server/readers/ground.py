"""What the metadata face of a reader stands on: the documents that it was told of, and the server to ask."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from forewarn.core.commands import Approve
from forewarn.core.region import Region, Vm
from forewarn.plane.clock import Moments
from forewarn.plane.ports import JournalFault, Origin, Record
from forewarn.plane.system import SYSTEM, ServerSystem
from forewarn.server.readers.messages import Beat, Edition, Enough, HandedAnswer, HandedRequest, ToServer
from forewarn.server.readers.shared_number import SharedNumber
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.answering.cache import Reply, reply_to
from forewarn.web.metadata.answering.outcomes import DROPPED, Outcome
from forewarn.web.metadata.answering.serving import STALE
from forewarn.web.metadata.answering.waiting import Patience
from forewarn.web.metadata.asking.callers import Caller
from forewarn.web.metadata.asking.request import Request
from forewarn.web.slices.bulletins import Bulletin
from forewarn.web.slices.holding import HeldChange, Holding
from forewarn.web.watched import WatchedVms
from forewarn.wire import errors

_NOT_KNOWN = "This server did not say what became of the request"


class OutOfOrder(Exception):  # noqa: N818 - the name says enough
    """News of an edition do not follow on what is known: this reader must begin anew."""


class HandedPatience(Patience):
    """The patience of a request that was handed on: where it ends, the server is told so, too."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(seconds)
        self.over = False
        self.tell: Callable[[], None] = lambda: None

    def end(self) -> None:
        super().end()
        self.tell()


class ReaderClock:
    """The server's clock, which goes on here by the seconds that all processes of a machine share."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._zero = 0.0  # the region's time when ``elapsed`` was zero, as it goes now, in seconds since 1970
        self._speed = 1.0
        self._latest = datetime.min.replace(tzinfo=UTC)  # nothing that was said was later than this, or than now
        self._moments = Moments(self.now, elapsed)
        self.lately = self.now

    def follow(self, beat: Beat) -> None:
        if self._zero:
            self._latest = self.now()
        self._speed = beat.speed
        self._zero = beat.now.timestamp() - beat.elapsed * beat.speed
        self._moments.end()
        self.lately = self._moments.now if beat.speed == 1.0 else self.now

    def now(self) -> datetime:
        found = datetime.fromtimestamp(self._zero + self._elapsed() * self._speed, UTC)
        return found if found > self._latest else self._latest

    async def sleep_until(self, at: datetime) -> None:
        """Not needed: what depends on the time is answered by the server."""
        raise JournalFault("A reader does not wait for the region's clock.")


class ReaderStanding:
    """Whether what is known here may be shown: no more has been published, and the server has been heard lately."""

    def __init__(self, number: SharedNumber, elapsed: Callable[[], float]) -> None:
        self._number = number
        self._elapsed = elapsed
        self.edition = 0
        self.until = -math.inf

    @property
    def current_until(self) -> float:
        """Looked at for each answer from memory: not now, where the server has published more."""
        return self.until if self._number.value == self.edition else -math.inf

    @property
    def stale(self) -> str:
        return "" if self._elapsed() < self.until else "This reader has not heard from its server."


class ReaderPublished:
    """The region as far as readers know it. ``seq`` counts its changes."""

    def __init__(self) -> None:
        self.region = Region()
        self.seq = 0

    def subscribe(self, _listener: Callable[[Region, Sequence[Record]], None]) -> Callable[[], None]:
        return lambda: None


class ReaderGround:
    """What a reader's metadata face stands on (a ``Ground``). ``told`` is called after each change.

    ``send`` takes a message to the server and must be set before the first request.
    """

    def __init__(self, number: SharedNumber, staleness_seconds: float, system: ServerSystem = SYSTEM) -> None:
        self.system = system
        self.number = number
        self.published = ReaderPublished()
        self.standing = ReaderStanding(number, system.elapsed)
        self.clock = ReaderClock(system.elapsed)
        self.faults = FaultRules()  # none of its own: ``active`` while the server answers everything
        self.watched = WatchedVms()
        self.last: dict[str, datetime] = {}  # reads that the server has not been told of, by VM
        self.told: Callable[[datetime, HeldChange], None] = lambda _at, _held: None
        self.send: Callable[[ToServer], None] = lambda _message: None
        self._staleness_seconds = staleness_seconds
        self._heard_at = -math.inf  # when the server said last how it stands, by ``elapsed``
        self._holding = Holding()
        self._reaching: dict[asyncio.Future[None], int] = {}  # with the edition that each waits for
        self._asked = 0
        self._asking: dict[int, tuple[bytes, asyncio.Future[Outcome]]] = {}  # by number, with the verb

    @property
    def region(self) -> Region:
        return self.published.region

    @property
    def seq(self) -> int:
        return self.published.seq

    def now(self) -> datetime:
        return self.clock.now()

    def subscribe(self, listener: Callable[[Region, Sequence[Record]], None]) -> Callable[[], None]:
        return self.published.subscribe(listener)

    # What the server tells

    def take(self, news: Edition) -> None:
        """Apply an edition. Clients see all of it or nothing.

        Where it comes in several messages, nothing is seen before the last. ``OutOfOrder`` if one is missing.
        """
        if not news.whole and news.edition != self.standing.edition + 1:
            raise OutOfOrder(f"edition {news.edition} follows on {self.standing.edition}")
        held = self._holding.apply(_bulletin(news))
        if held is None:
            return
        self.faults.active = news.hands_on
        self.watched.show(news.watched)
        self.standing.edition = news.edition
        if held.region is not self.published.region:
            self.published.region = held.region
            self.published.seq += 1
            self.told(news.beat.now, held)
        self.hear(news.beat)
        for waiting, edition in self._reaching.items():
            if edition <= news.edition and not waiting.done():
                waiting.set_result(None)

    def hear(self, beat: Beat) -> None:
        """Note a beat: until when what is known may be shown, and the region's time."""
        self._heard_at = beat.elapsed
        self.standing.until = min(beat.until, beat.elapsed + self._staleness_seconds)
        self.clock.follow(beat)

    async def reach(self, edition: int) -> bool:
        """Wait until that edition is known here. False where the server falls silent before."""
        if edition <= self.standing.edition:
            return True
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reaching[waiting] = edition
        try:
            async with asyncio.timeout(max(0.0, self._heard_at + self._staleness_seconds - self.system.elapsed())):
                await waiting
        except TimeoutError:
            return False
        finally:
            del self._reaching[waiting]
        return True

    # What the server is asked

    @property
    def is_silent(self) -> bool:
        """Whether the server was last heard ``staleness_seconds`` ago or earlier."""
        return self.system.elapsed() >= self._heard_at + self._staleness_seconds

    async def hand_on(self, request: Request, caller: Caller, patience: HandedPatience, *, held: bool) -> Outcome:
        """The server's answer. Where it is silent, nothing is asked, and nothing was done."""
        if self.is_silent:
            return STALE
        loop = asyncio.get_running_loop()
        self._asked += 1
        number, waiting = self._asked, loop.create_future()
        self._asking[number] = (request.verb, waiting)
        self.send(_asked(number, request, caller, held))
        patience.tell = lambda: self.send(Enough(number))
        timer = None if patience.ends_at is None else loop.call_at(patience.ends_at, patience.end)
        if patience.over:
            patience.tell()
        try:
            outcome: Outcome = await waiting
            return outcome
        except asyncio.CancelledError:  # the client is gone
            patience.tell()
            raise
        finally:
            del self._asking[number]
            if timer is not None:
                timer.cancel()

    def answered(self, answer: HandedAnswer) -> None:
        """Hand the server's answer to the request that waits for it; dropped where its client has gone."""
        _, waiting = self._asking.get(answer.number, (b"", None))
        if waiting is not None and not waiting.done():
            waiting.set_result(DROPPED if answer.dropped else Reply(answer.before, answer.after, answer.request_id))

    def give_up(self) -> None:
        """Once the server is silent, end what waits for it.

        A read is answered as stale, a POST with an error that says that its outcome is not known.
        """
        if not self.is_silent:
            return
        for verb, waiting in self._asking.values():
            if not waiting.done():
                waiting.set_result(reply_to(errors.server_error(_NOT_KNOWN)) if verb == b"POST" else STALE)

    def read_by(self, name: str) -> datetime:
        at = self.last[name] = self.clock.lately()
        return at

    async def enable(self, vm: Vm, request_id: str = "") -> None:
        raise JournalFault(f"{vm.name} is enabled by the server.")

    async def submit(self, command: Approve, origin: Origin) -> None:
        raise JournalFault(f"{origin.who} approves at the server.")


def _bulletin(news: Edition) -> Bulletin:
    values = (news.edition, "", news.beat.elapsed, news.beat.now)
    return Bulletin(*values, whole=news.whole, more=news.more, vms=news.vms, gone=news.gone, scopes=news.scopes)


def _asked(number: int, request: Request, caller: Caller, held: bool) -> HandedRequest:
    return HandedRequest(
        number,
        request.verb,
        request.target,
        request.fields,
        caller.claims,
        caller.may_name,
        request.body,
        request.keep_alive,
        request.http_1_0,
        request.oversized,
        held,
    )
