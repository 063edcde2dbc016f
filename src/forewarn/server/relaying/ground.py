"""What the metadata face of a relay stands on: what its upstream has told, and a line to ask by."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from itertools import islice

import msgspec
from msgspec import Struct

from forewarn.core.commands import Approve
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region, Vm
from forewarn.plane.clock import RealClock, TurnableClock
from forewarn.plane.ports import JournalFault, Origin, Record, Uncertain
from forewarn.plane.system import SYSTEM, ServerSystem
from forewarn.server.relaying.line import Upstream, UpstreamFault, UpstreamRefusal
from forewarn.web.slices.bulletins import Bulletin, RelayManners
from forewarn.web.slices.holding import HeldChange, Holding

_log = logging.getLogger(__name__)
_READS_TOGETHER = 2_000  # ours: an upstream refuses a body of many more fields (MOST_FIELDS of web/operator/gate.py)
_CATCH_UP_SECONDS = 5.0  # ours: for the news of what the upstream has just answered; they take milliseconds
_NOTHING_DONE = 503  # of a node, and whatever says that the question was at fault; all else may have been done


class RelayAnswer(Struct, frozen=True):
    """What an upstream says to what a VM does."""

    seq: int
    refused: str = ""


_answers = msgspec.json.Decoder(RelayAnswer)


class RelayStanding:
    """Whether the upstream was heard lately. It counts from when the upstream was sure, not from when it was heard."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self.current_until = -math.inf
        self._staleness_seconds = 0.0
        self._offset = 0.0  # from the upstream's steady clock to ours, at the least, as long as neither stands still

    def begin(self, asked_at: float, elapsed: float, staleness_seconds: float) -> None:
        """Relate the upstream's clock to ours.

        A stream's first bulletin was made at ``elapsed`` there, and not before it was asked for, at ``asked_at`` here.
        So what is known is never taken for newer than it is, while both clocks go on: see ``age``.
        """
        self._offset = asked_at - elapsed
        self._staleness_seconds = staleness_seconds

    def age(self, made_at: float) -> float:
        """How old at the most, in seconds, is what the upstream made at that instant of its clock.

        It grows where the upstream's machine stood still (a virtual one that is paused), and what is made in the future
        tells that ours did.
        """
        return self._elapsed() - made_at - self._offset

    def heard(self, as_of: float) -> None:
        """All that was so at ``as_of``, by the upstream's clock, is known here now; nothing is from later than now."""
        surely_at = min(as_of + self._offset, self._elapsed())
        self.current_until = max(self.current_until, surely_at + self._staleness_seconds)

    def doubt(self) -> None:
        """How old anything is that is known here, cannot be told."""
        self.current_until = -math.inf

    @property
    def stale(self) -> str:
        if self._elapsed() < self.current_until:
            return ""
        return f"This relay has not heard from its upstream for {self._staleness_seconds:g} s."


class RelayPublished:
    """The region as the relay has it. ``seq`` counts its changes, not the journal's records."""

    def __init__(self) -> None:
        self.region = Region()
        self.seq = 0

    def subscribe(self, _listener: Callable[[Region, Sequence[Record]], None]) -> Callable[[], None]:
        """The listener is never called: a relay has no records to pass on. Its face is told of changes by ``told``."""
        return lambda: None


class RelayGround:
    """A ``Ground`` for the metadata face. ``told`` is called after each change, with the instant and what changed.

    What a stream begins with may be as old as the end of the one before, and is told as of then.
    """

    def __init__(self, upstreams: Sequence[Upstream], system: ServerSystem = SYSTEM) -> None:
        self.upstreams = list(upstreams)  # the first is the one that answered last
        self.system = system
        self.published = RelayPublished()
        self.standing = RelayStanding(system.elapsed)
        self.clock: RealClock | TurnableClock = RealClock(wall=system.wall, elapsed=system.elapsed)
        self.manners = RelayManners()
        self.told: Callable[[datetime, HeldChange], None] = lambda _at, _held: None
        self.last: dict[str, datetime] = {}  # reads that the upstream has not been told of, by VM
        self.known_seq, self.known_mark = 0, ""  # the last record of which this relay knows
        self._sure_at = datetime.min.replace(tzinfo=UTC)  # the region's time of the last news
        self._holding = Holding()
        self._reached: list[tuple[int, asyncio.Future[None]]] = []
        self._enablings: dict[str, asyncio.Task[None]] = {}  # by scope

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

    # What the upstream tells

    def take(self, bulletin: Bulletin) -> None:
        """Apply a bulletin. VMs see all of it or nothing: where it comes in several pieces, nothing before the last."""
        held = self._holding.apply(bulletin)
        if held is None:
            return
        self._set_clock(bulletin)
        self.known_seq, self.known_mark = bulletin.seq, bulletin.mark
        if held.region is not self.published.region:
            self.published.region = held.region
            self.published.seq += 1
            self.told(self._sure_at if bulletin.whole else bulletin.now, held)
        self._sure_at = bulletin.now
        self.standing.heard(bulletin.elapsed - bulletin.silence)
        for seq, waiting in self._reached:
            if seq <= bulletin.seq and not waiting.done():
                waiting.set_result(None)

    def _set_clock(self, bulletin: Bulletin) -> None:
        if bulletin.speed is None:
            self.clock.agree(bulletin.now)
            return
        if not isinstance(self.clock, TurnableClock):
            self.clock = TurnableClock(bulletin.now, bulletin.speed, elapsed=self.system.elapsed)
        if self.clock.speed != bulletin.speed:
            self.clock.set_speed(bulletin.speed)
        if self.clock.now() < bulletin.now:
            self.clock.move_to(bulletin.now)

    async def _reach(self, seq: int) -> None:
        """Wait until the record that the upstream has answered with is known here, too: a VM reads its own writes."""
        if seq <= self.known_seq:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (seq, waiting)
        self._reached.append(entry)
        try:
            async with asyncio.timeout(_CATCH_UP_SECONDS):
                await waiting
        except TimeoutError:
            raise Uncertain("It was kept, but the upstream's news of it have not come.") from None
        finally:
            self._reached.remove(entry)

    # What VMs do

    def read_by(self, name: str) -> datetime:
        at = self.last[name] = self.clock.lately()
        return at

    async def enable(self, vm: Vm, request_id: str = "") -> None:
        """Enable a scope at the upstream, once for all that read it for the first time at the same moment."""
        under_way = self._enablings.get(vm.scope)
        if under_way is None:
            under_way = asyncio.ensure_future(self._enable(vm, request_id))
            self._enablings[vm.scope] = under_way
            under_way.add_done_callback(lambda done: self._enabled(vm.scope, done))
        await asyncio.shield(under_way)

    def _enabled(self, scope: str, done: asyncio.Future[None]) -> None:
        """Forget an enabling that has ended. Its exception counts as seen, also where all that waited have gone."""
        del self._enablings[scope]
        if not done.cancelled():
            done.exception()

    async def _enable(self, vm: Vm, request_id: str) -> None:
        answer = await self._forward("read", {"vm": vm.name, "request_id": request_id, **self._place()})
        await self._reach(answer.seq)

    async def submit(self, command: Approve, origin: Origin) -> None:
        """An approval, forwarded once: where it is not known what became of it, the VM is told so."""
        body = {
            "vm": origin.who,
            "events": command.event_ids,
            "ignore_unknown": command.ignore_unknown,
            "request_id": origin.request_id,
            **self._place(),
        }
        answer = await self._forward("approve", body)
        if answer.refused:
            raise Refused(Hint.INVALID, answer.refused)
        await self._reach(answer.seq)

    def _place(self) -> dict[str, object]:
        """Number and mark of the last record known here: an upstream with another history refuses the request."""
        return {"after": self.known_seq, "mark": self.known_mark}

    async def report_reads(self) -> None:
        """Tell the upstream who has read. What it does not hear is kept for the next time."""
        reads, self.last = self.last, {}
        while reads:
            told = dict(islice(reads.items(), _READS_TOGETHER))
            try:
                await self._forward("reads", {"reads": told})
            except (JournalFault, Refused) as fault:
                _log.debug("Reads are told later: %s", fault)
                self.last = reads | self.last
                return
            for name in told:
                del reads[name]

    async def _forward(self, what: str, body: object) -> RelayAnswer:
        """The next upstream is asked only where the one before has not heard the question."""
        return await self.ask_one(lambda upstream: self._ask(upstream, what, body))

    async def _ask(self, upstream: Upstream, what: str, body: object) -> RelayAnswer:
        try:
            return _answers.decode(await upstream.ask(f"/v1/relays/{what}", body))
        except UpstreamRefusal as refusal:
            if refusal.status > 499 and refusal.status != _NOTHING_DONE:
                raise Uncertain(str(refusal)) from None
            raise JournalFault(str(refusal)) from None
        except msgspec.MsgspecError:
            raise Uncertain(f"{upstream.url} answered with something else than a relay expects.") from None

    async def ask_one(self, ask: Callable[[Upstream], Awaitable[RelayAnswer]]) -> RelayAnswer:
        faults = []
        for upstream in tuple(self.upstreams):
            try:
                return await ask(upstream)
            except UpstreamFault as fault:
                if fault.asked:
                    raise Uncertain(str(fault)) from None
                faults.append(str(fault))
        raise JournalFault(" ".join(faults))
