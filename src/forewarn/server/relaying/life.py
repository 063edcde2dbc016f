"""A relay's life: it hears its upstream, listens, says that it is ready, and ends with a signal or another history."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import msgspec

from forewarn.plane.ports import Diverged, JournalFault
from forewarn.plane.system import SYSTEM, ServerSystem
from forewarn.server import log as log_lines
from forewarn.server.process import ServerEnd, new_event_loop, open_files_most, stopped_by_signals, take_all_files
from forewarn.server.relaying.ground import RelayGround
from forewarn.server.relaying.line import Upstream, UpstreamFault, UpstreamRefusal
from forewarn.settings.errors import CannotListen, CommandFailed, Exit
from forewarn.settings.kinds import Address
from forewarn.web.answers import Answers
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.settings import Limits, MetadataSettings
from forewarn.web.slices.bulletins import Bulletin, StreamOrder, decode
from forewarn.web.watched import WatchedVms

USUAL_PLACE = Address("127.0.0.1", 16925)  # as a server's
_AZURES_PLACE = Address("169.254.169.254", 80)  # where a VM in its own network namespace finds us
_log = logging.getLogger(__name__)
_OTHER_HISTORY = 409  # the one conflict that a stream can have
_LEAST_SILENCE_SECONDS = 1.0  # ours: a busy machine may be late, whatever ``staleness`` is
_RETRY_SECONDS = (0.05, 0.2, 0.5, 1.0)  # ours: an upstream that restarts is back within seconds
_DRIFT_SECONDS = 0.5  # ours: two quartz clocks, 100 parts in a million apart, differ by less when a stream's hour ends
_READS_SECONDS = 60.0  # ours: scopes lapse after a day without reads, and an hour's would do


@dataclass(frozen=True)
class RelayOrder:
    """What a relay is told on its command line."""

    upstreams: tuple[Upstream, ...]
    vms: tuple[str, ...] = ()
    host: str = ""
    metadata: Address = USUAL_PLACE
    guest: Address = _AZURES_PLACE
    limits: Limits = field(default_factory=Limits)
    short_way: bool = True  # as of a node


@dataclass(frozen=True)
class RunningRelay:
    """A relay that answers."""

    url: str
    vms: int
    upstream: str


class Relay:
    """Follows its upstream; ``lost`` is set when that has another history than the one that this relay knows."""

    def __init__(self, order: RelayOrder, system: ServerSystem = SYSTEM) -> None:
        self._order = order
        self._system = system
        self.ground = RelayGround(order.upstreams, system)
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard = asyncio.Event()
        self._late_since: float | None = None  # when news began to be so old as they still are
        self._asked_anew: Upstream | None = None  # its stream broke off, and no other has ended in order since
        self._following: asyncio.Task[None] | None = None
        self._reporting: asyncio.Task[None] | None = None
        self.face: MetadataFace

    @asynccontextmanager
    async def running(self) -> AsyncIterator[RunningRelay]:
        """Everything that ``forewarn relay`` runs, from its first news to its end in good order."""
        try:
            yield await self.open()
        finally:
            await self.close()

    async def open(self) -> RunningRelay:
        """Follow the upstream, and listen once its VMs are known."""
        self._following = asyncio.create_task(self._begin())
        await self._first_news(self._following)
        self.face = MetadataFace(self.ground, FaultRules(), WatchedVms(), self._settings(), Answers())
        self.ground.told = self.face.renew
        await self._listen()
        self._reporting = asyncio.create_task(self._report_on())
        place = Address(self._order.metadata.host, self.face.port)
        return RunningRelay(f"http://{place}", len(self.ground.region.vms), self.ground.upstreams[0].url)

    async def close(self) -> None:
        """End the relay, also one that never came to listen."""
        if self._reporting is not None:
            self._reporting.cancel()
            await self.face.close()
            await self.ground.report_reads()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    def _settings(self) -> MetadataSettings:
        manners = self.ground.manners
        return MetadataSettings(
            first_read_delay=manners.first_read_delay,
            visibility_lag=manners.visibility_lag,
            throttle_per_second=manners.throttle_per_second,
            not_before_format=manners.not_before_format,
            unknown_event="ok" if manners.ignore_unknown else "refuse",
            guest_address=self._order.guest.host,
            guest_port=self._order.guest.port,
            limits=self._order.limits,
            short_way=self._order.short_way,
        )

    async def _listen(self) -> None:
        where = self._order.metadata
        try:
            await self.face.start(where.host, where.port)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            sentence = f"cannot listen on {where} ({reason}); choose another address with --metadata."
            raise CannotListen(sentence) from None

    async def _first_news(self, following: asyncio.Task[None]) -> None:
        heard = asyncio.ensure_future(self._heard.wait())
        await asyncio.wait((following, heard), return_when=asyncio.FIRST_COMPLETED)
        heard.cancel()
        if not self._heard.is_set():
            await following  # raises why

    async def _begin(self) -> None:
        """The first stream must come about; after that it is tried again and again."""
        try:
            await self._follow_one_of_all()
        except JournalFault as fault:
            if not self._heard.is_set():
                raise
            _log.warning("The upstream cannot be followed: %s", fault)
        await self._follow_on()

    # The stream

    async def _follow_on(self) -> None:
        tries = 0
        silent = False
        while True:
            before = self.ground.standing.current_until
            try:
                await self._follow_one_of_all()
            except Diverged as fault:
                if not self.lost.done():
                    self.lost.set_exception(fault)
                return
            except JournalFault as fault:
                if not silent:
                    _log.warning("The upstream cannot be followed: %s", fault)
                silent = True
            if self.ground.standing.current_until > before:
                if silent:
                    _log.info("The upstream answers again.")
                tries, silent = 0, False
                continue
            await asyncio.sleep(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)])
            tries += 1

    async def _follow_one_of_all(self) -> None:
        """Until the stream of the first upstream that has one ends. ``Diverged`` where one has another history."""
        faults = []
        for upstream in tuple(self.ground.upstreams):
            try:
                await self._follow(upstream)
                self._asked_anew = None
                return
            except UpstreamFault as fault:
                faults.append(str(fault))
                spoke = fault.asked and self.ground.upstreams[0] is upstream and self._heard.is_set()
                if spoke and self._asked_anew is not upstream:
                    self._asked_anew = upstream
                    break  # it is asked first again, once: where its line is bad, the next one is better
            except UpstreamRefusal as refusal:
                if refusal.status == _OTHER_HISTORY:
                    raise Diverged(str(refusal)) from None
                faults.append(str(refusal))
        raise JournalFault(" ".join(faults))

    async def _follow(self, upstream: Upstream) -> None:
        """A stream that was slow to begin is asked for anew: all that it tells would count as so much older."""
        ground, asked_at = self.ground, self._system.elapsed()
        order = StreamOrder(self._order.vms, self._order.host, ground.known_seq, ground.known_mark)
        async with upstream.open("/v1/relays/stream", order) as pieces:
            bulletins = _bulletins(pieces)
            begun = False
            while (bulletin := await self._next(bulletins)) is not None:
                if not begun:
                    begun = True
                    self._begin_stream(upstream, asked_at, bulletin)
                self._look_at_our_clock(bulletin)
                ground.take(bulletin)
                if bulletin.more:
                    continue
                self._heard.set()
                self._look_at_its_clock(upstream, bulletin)
                if bulletin.manners is not None and self._system.elapsed() - asked_at > self._slowest_start():
                    raise UpstreamFault(f"{upstream.url} was slow to begin.", asked=True)

    def _slowest_start(self) -> float:
        """Half of what may be told beyond its day: a quarter goes by between two bulletins, and one may be late."""
        return self.ground.manners.staleness.total_seconds() / 2

    def _look_at_our_clock(self, bulletin: Bulletin) -> None:
        """News from the future tell that this machine stood still while its upstream's did not.

        Then nobody knows how old they are, for they may have waited. A new stream finds out.
        """
        if self.ground.standing.age(bulletin.elapsed) < -_DRIFT_SECONDS:
            self.ground.standing.doubt()
            raise UpstreamFault("The clock of this machine stood still; the upstream is asked anew.", asked=True)

    def _look_at_its_clock(self, upstream: Upstream, bulletin: Bulletin) -> None:
        """News that are old, and stay so, tell that the upstream's machine stood still, or that its line is bad.

        A new stream knows which. What has only waited here is read at once, and followed by what is not old.
        """
        standing, elapsed = self.ground.standing, self._system.elapsed()
        age = standing.age(bulletin.elapsed)
        if age <= self._slowest_start():
            self._late_since = None
            return
        if self._late_since is None:
            self._late_since = elapsed
        if standing.stale or elapsed - self._late_since >= self._slowest_start() / 2:
            raise UpstreamFault(f"News of {upstream.url} are {age:.1f} s old; it is asked anew.", asked=True)

    async def _next(self, bulletins: AsyncIterator[Bulletin]) -> Bulletin | None:
        """The next bulletin of the stream, None at its end. An upstream silent for ``staleness`` counts as gone."""
        try:
            async with asyncio.timeout(max(_LEAST_SILENCE_SECONDS, self.ground.manners.staleness.total_seconds())):
                return await anext(bulletins, None)
        except TimeoutError:
            raise UpstreamFault("The upstream has fallen silent.", asked=True) from None

    def _begin_stream(self, upstream: Upstream, asked_at: float, first: Bulletin) -> None:
        ground = self.ground
        if first.manners is None or not first.whole:
            raise UpstreamFault(f"{upstream.url} does not begin at the beginning.", asked=True)
        if not self._heard.is_set():
            ground.manners = first.manners
        elif first.manners != ground.manners:
            raise Diverged("The upstream's settings have changed.")
        self._late_since = None
        ground.standing.begin(asked_at, first.elapsed, ground.manners.staleness.total_seconds())
        ground.upstreams.remove(upstream)
        ground.upstreams.insert(0, upstream)

    async def _report_on(self) -> None:
        """Signs of life, in time for the shortest day that a region may have."""
        every = min(_READS_SECONDS, self.ground.manners.disable_after.total_seconds() / 8)
        while True:
            await asyncio.sleep(every)
            await self.ground.report_reads()


async def _bulletins(pieces: AsyncIterator[bytes]) -> AsyncIterator[Bulletin]:
    """Lines that have come whole."""
    left = b""
    async for piece in pieces:
        *lines, left = (left + piece).split(b"\n")
        for line in lines:
            try:
                yield decode(line)
            except msgspec.MsgspecError as flaw:
                raise UpstreamFault(f"The upstream tells what no relay expects: {flaw}", asked=True) from None


def run(order: RelayOrder, greet: Callable[[RunningRelay], None], log_level: str = "info") -> int:
    """Relay until SIGTERM or Ctrl-C. What stops a relay from starting, or from going on, is one sentence."""
    log_lines.configure(log_level)
    take_all_files()
    order = replace(order, limits=order.limits.within(open_files_most()))
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_relay(order, greet))
    except Diverged as fault:
        raise CommandFailed(f"{fault} This relay ends; started anew, it begins with what is there.") from None
    except JournalFault as fault:
        raise CommandFailed(str(fault)) from None
    return Exit.OK


async def _relay(order: RelayOrder, greet: Callable[[RunningRelay], None]) -> None:
    ending = ServerEnd()
    relay = Relay(order)
    with stopped_by_signals(ending):
        async with relay.running() as running:
            gc.freeze()  # all that is loaded by now stays: it need not be looked at again and again
            greet(running)
            asked = asyncio.ensure_future(ending.asked.wait())
            await asyncio.wait((asked, relay.lost), return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if relay.lost.done():
                relay.lost.result()
            _log.info("Shutting down.")
