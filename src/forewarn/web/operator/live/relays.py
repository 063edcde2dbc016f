"""News for relays: each is told what has changed of its own VMs, and at least now and then that nothing has.

A fact is looked up by what it is about. So it costs those relays something whose VMs it concerns, and without any relay
nothing is subscribed to. A relay that is slow is told the sum of what it missed: what it knows is a region of before,
which shares all that has not changed with the one of now. Where many have something to be told at once, they are a few
in each turn of the loop, those that have news before those that hear that there are none.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from forewarn.core import facts as f
from forewarn.core.looking.lookup import host_named
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region, Vm, replace
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Record
from forewarn.web.operator.live.few_at_once import FewAtOnce
from forewarn.web.operator.live.subjects import UnknownEventError, named_by
from forewarn.web.operator.stream import Streams, happens
from forewarn.web.slices.bulletins import Bulletin, RelayManners, encode, mark_of
from forewarn.web.slices.cutting import Difference, difference

LONGEST_SECONDS = 3600.0  # ours: two quartz clocks, 100 parts in a million apart, differ by a third of a second then
_BEATS = 4  # within ``staleness``: three may be lost on the way
_BEATS_UNSEEN = 12  # ours: after so many a stream is looked at though no fact has named it; costs a fact's work
_BEAT_KEPT_SECONDS = 0.1  # ours: one beat does for all streams of this while; a fortieth of the time between two
_SIGNS_OF_LIFE = (f.ScopeRead, f.ScopesRead)  # no document tells of them, and most facts are these
_AT_ONCE = 8  # ours: bulletins in one turn of the loop, some 0.1 ms each; a thousand beats may fall due together
_log = logging.getLogger(__name__)
_RESOURCES = (f.ResourceKept, f.ResourceForgotten)  # rare, and which VMs they concern is not written in them


@dataclass(frozen=True)
class RelayedVms:
    """Which VMs a relay serves: those with one of these names, where there are any, on this host, if one is given."""

    keys: frozenset[str] = frozenset()
    host: str = ""

    def within(self, granted: RelayedVms) -> RelayedVms:
        """The same, as far as it is granted; refused where something is asked for that is not."""
        if granted.host and self.host not in ("", granted.host):
            raise Refused(Hint.INVALID, f"This token is for the VMs of {granted.host}, not for those of {self.host}.")
        if granted.keys and not self.keys <= granted.keys:
            raise Refused(Hint.INVALID, f"This token is not for the VM '{min(self.keys - granted.keys)[:80]}'.")
        return RelayedVms(self.keys or granted.keys, self.host or granted.host)

    def has(self, region: Region, vm: Vm) -> bool:
        if self.keys and vm.key not in self.keys:
            return False
        return not self.host or (vm.host is not None and vm.host == self._number(region))

    def of(self, region: Region) -> tuple[str, ...]:
        """The keys of those that there are, in a fixed order."""
        if not self.host:
            return tuple(key for key in self._sorted if key in region.vms)
        number = self._number(region)
        here = region.hosts[number].vms if number is not None else ()
        return tuple(sorted(key for key in here if not self.keys or key in self.keys))

    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        return tuple(sorted(self.keys))

    def _number(self, region: Region) -> int | None:
        try:
            return host_named(region, self.host).number
        except Refused:
            return None  # it may come yet

    def names(self, region: Region) -> set[str]:
        """The subjects of facts that concern this relay."""
        found = {"clock"} | {f"vm/{key}" for key in self.keys} | ({f"host/{self.host}"} if self.host else set())
        for key in self.of(region):
            vm = region.vms[key]
            found |= {f"vm/{key}", vm.scope}
            if vm.scale_set:
                found.add(f"scale-set/{vm.scale_set.lower()}")
        return found


class RelayStream:
    """One relay that listens."""

    def __init__(self, wanted: RelayedVms) -> None:
        self.wanted = wanted
        self.woken = asyncio.Event()
        self.told = Region()  # what it knows
        self.knows: tuple[str, ...] = ()  # its VMs in that
        self.names: set[str] = set()
        self._scopes: dict[str, str] = {}  # of its VMs
        self._beats = 0  # since the last look

    def wants_a_look(self) -> bool:
        """Whether anything may be new for it: it was woken, or a while has passed."""
        self._beats += 1
        wants = self.woken.is_set() or self._beats > _BEATS_UNSEEN
        if wants:
            self._beats = 0
            self.woken.clear()
        return wants

    def look(self, region: Region) -> Difference:
        """What the relay must be told of a region; from here on it is taken to know that."""
        has = self.wanted.of(region)
        found = difference(self.told, region, self.knows, has, self._scopes)
        self.told, self.knows = region, has
        return found


class Newsroom:
    """The streams of all relays that follow this node, and which of them a fact concerns. Used on the loop only."""

    def __init__(self, plane: Plane, manners: RelayManners) -> None:
        self._plane = plane
        self.manners = manners
        self._by_name: dict[str, dict[RelayStream, None]] = {}
        self._streams: dict[RelayStream, None] = {}
        self._turns = FewAtOnce(_AT_ONCE)
        self._before = plane.region
        self._last: Record | None = None
        self._last_beat, self._beat_seq = (-math.inf, b""), -1
        self._marked = (-1, "")  # the number and the mark of a record that was asked for last
        self._unsubscribe: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._streams)

    async def follow(
        self, wanted: RelayedVms, streams: Streams, still: Callable[[], bool]
    ) -> AsyncGenerator[bytes, None]:
        """Bulletins as lines, until the server closes, the hour is over or ``still`` says no."""
        stream = RelayStream(wanted)
        ends_at = self._plane.system.elapsed() + LONGEST_SECONDS
        beat = self.manners.staleness.total_seconds() / _BEATS
        self._join(stream)
        leave = streams.join(stream.woken.set)
        first = True
        try:
            while not streams.closed and not self._plane.standing.lost.is_set() and still():
                await self._turns.come(first=stream.woken.is_set())
                if stream.wants_a_look():
                    yield encode(await self._bulletin(stream, whole=first))
                    first = False
                else:
                    line = await self._beat()
                    if stream.woken.is_set():  # the beat knows of more than the stream was told
                        continue
                    yield line
                if self._plane.system.elapsed() >= ends_at:
                    return
                await happens(stream.woken, beat)
        except JournalFault as fault:  # which record is the last, nobody can tell; the relay comes back
            _log.warning("A stream of news ended early: %s", fault)
        finally:
            leave()
            self._part(stream)

    def clock_turned(self) -> None:
        """Tell every relay the clock's new speed: it is no fact, so no record brings it."""
        self._wake(self._by_name)

    def touch(self, vm: Vm) -> None:
        """Send the journal's number to all relays that hold this VM or its scope, even where nothing has changed."""
        self._wake((f"vm/{vm.key}", vm.scope))

    async def mark(self, seq: int) -> str:
        """The mark of the record with this number; empty for the beginning, and where there is none."""
        if self._marked[0] == seq:
            return self._marked[1]
        if self._last is not None and self._last.seq == seq:
            found = [self._last]
        else:
            found = await asyncio.to_thread(self._plane.journal.read, seq - 1, 1) if seq else []
        mark = mark_of(found[0]) if found and found[0].seq == seq else ""
        if mark:
            self._marked = (seq, mark)
        return mark

    async def _beat(self) -> bytes:
        """A line that nothing has changed, made once for all relays whose turn comes within a moment."""
        made_at, line = self._last_beat
        if self._plane.system.elapsed() - made_at > _BEAT_KEPT_SECONDS or self._beat_seq != self._plane.seq:
            bare = await self._bare()
            self._beat_seq, line = bare.seq, encode(bare)
            self._last_beat = (bare.elapsed, line)
        return line

    async def _bulletin(self, stream: RelayStream, *, whole: bool) -> Bulletin:
        bare = await self._bare()
        vms, gone, scopes = stream.look(self._plane.region)
        if vms or gone or whole:
            self._listen(stream)  # now: who is sent a long bulletin must not miss what comes meanwhile
        manners = self.manners if whole else None
        return replace(bare, whole=whole, vms=vms, gone=gone, scopes=scopes, manners=manners)

    async def _bare(self) -> Bulletin:
        """A bulletin of this moment that tells of no change: number, mark, clock and silence alone."""
        plane = self._plane
        while True:
            seq = plane.seq
            mark = await self.mark(seq)
            if seq == plane.seq:
                break
        speed = None if plane.clock.kind == "real" else plane.clock.speed
        return Bulletin(seq, mark, plane.system.elapsed(), plane.now(), speed, plane.standing.silence)

    # Who is to be woken by what

    def _join(self, stream: RelayStream) -> None:
        if self._unsubscribe is None:
            self._before = self._plane.region
            self._unsubscribe = self._plane.subscribe(self._publish)
        self._streams[stream] = None
        self._file(stream, stream.wanted.names(self._plane.region))
        stream.woken.set()

    def _part(self, stream: RelayStream) -> None:
        del self._streams[stream]
        self._file(stream, set())
        if not self._streams and self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = self._last = None

    def _listen(self, stream: RelayStream) -> None:
        """File the stream under the names of its VMs, which may be others than before."""
        self._file(stream, stream.wanted.names(self._plane.region))

    def _file(self, stream: RelayStream, names: set[str]) -> None:
        for name in stream.names - names:
            filed = self._by_name[name]
            del filed[stream]
            if not filed:
                del self._by_name[name]
        for name in names - stream.names:
            self._by_name.setdefault(name, {})[stream] = None
        stream.names = names

    def _publish(self, region: Region, records: Sequence[Record]) -> None:
        before, self._before = self._before, region
        if records:
            self._last = records[-1]
        for record in records:
            fact = record.fact
            if isinstance(fact, _SIGNS_OF_LIFE):
                continue
            try:
                self._wake(self._by_name if isinstance(fact, _RESOURCES) else named_by(fact, before, region))
            except UnknownEventError:
                self._wake(self._by_name)

    def _wake(self, names: Iterable[str]) -> None:
        for name in names:
            for stream in self._by_name.get(name, ()):
                stream.woken.set()
