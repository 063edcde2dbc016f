"""When each VM last read. Kept in memory, because a journal entry for each poll would be a write for each poll."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from itertools import takewhile

from forewarn.core.commands import Pulse
from forewarn.core.looking.deadlines import DUE_MOST
from forewarn.core.region import Region, Scope, fold
from forewarn.plane.clock import Clock
from forewarn.plane.ports import Origin, Writes
from forewarn.plane.standing import Standing

VM = Origin("vm")
_PULSE_EVERY = timedelta(hours=1)
# Ours: pollers read up to five times a second, and the rule that needs it is about a day
_KEEP_EVERY = timedelta(seconds=10)
_PULSE_MOST = 1_000  # as BATCH_MOST: reads of one pulse; others write in between


class ReadBook:
    """The last read of each VM since the journal last heard of it; ``last`` is written to for every GET."""

    def __init__(self) -> None:
        self.last: dict[str, datetime] = {}  # by name as given: folding it at each poll would cost more than the entry
        self._gone: dict[str, datetime] = {}  # by scope: the last read of a VM that was deleted since

    def deleted(self, region: Region, key: str) -> None:
        """A VM goes, of this region. What it has read keeps its scope enabled, of which others may be left that do not
        read. Called in the writer's thread.
        """
        vm = region.vms.get(key)
        at = None if vm is None else self.last.get(vm.name)
        if vm is not None and at is not None:
            self._gone[vm.scope] = max(at, self._gone.get(vm.scope, at))

    def newer_than(self, region: Region, age: timedelta) -> list[tuple[str, datetime]]:
        """The last read of each scope that the journal does not know, where it is newer by ``age`` or more.

        What the journal knows is forgotten, but not yet what is answered here, for writing it may fail. So the book
        holds at most one entry for each VM that still polls. Those of one second are given its last instant, so that
        they can share a fact: a scope may lapse by so much later, and never earlier.
        """
        newest = self._newest(region)
        self.last = {name: at for name, at, scope in newest.values() if _is_newer(scope, at, timedelta(0))}
        found = sorted((at, fold(name)) for name, at, scope in newest.values() if _is_newer(scope, at, age))
        last_in = {at.replace(microsecond=0): at for at, _ in found}
        return [(name, last_in[at.replace(microsecond=0)]) for at, name in found]

    def keeping_alive(self, region: Region, now: datetime, commands: int = 1) -> list[tuple[str, datetime]]:
        """The reads that keep scopes enabled whose 24 hours would otherwise be over by ``now``.

        A batch settles a bounded number of entries; what it leaves comes with the next one. Costs what is due, not what
        was read, and may be called while another thread notes reads.
        """
        kept: list[tuple[str, datetime]] = []
        for scope in _lapsing(region, now, (commands + 1) * DUE_MOST):
            members = region.members_of(scope)
            reads = [(self.last.get(vm.name), vm.key) for vm in members]
            reads += [(self._gone.get(scope.key), vm.key) for vm in members[:1]]
            newest = max(((at, key) for at, key in reads if at is not None), default=None)
            if newest is not None and _is_newer(scope, newest[0], timedelta(microseconds=1)):
                kept.append((newest[1], newest[0]))
        return kept

    def _newest(self, region: Region) -> dict[str, tuple[str, datetime, Scope]]:
        newest: dict[str, tuple[str, datetime, Scope]] = {}
        for name, at in self.last.items():
            vm = region.vms.get(fold(name))
            if vm is None:
                continue
            known = newest.get(vm.scope)
            if known is None or at > known[1]:
                newest[vm.scope] = (name, at, region.scope_of(vm))
        for key in tuple(self._gone):
            self._speak_for_gone(region, key, newest)
        return newest

    def _speak_for_gone(self, region: Region, key: str, newest: dict[str, tuple[str, datetime, Scope]]) -> None:
        """A read of a VM that was deleted is told in the name of another one, until the journal knows it."""
        at, scope, known = self._gone[key], region.scopes.get(key), newest.get(key)
        members = region.members_of(scope) if scope is not None else ()
        if scope is None or not members or not _is_newer(scope, at, timedelta(0)):
            del self._gone[key]
        elif known is None or at > known[1]:
            newest[key] = (members[0].name, at, scope)


def _is_newer(scope: Scope, at: datetime, age: timedelta) -> bool:
    """False for a scope that is not enabled: its first read goes through ``enable``, not through the book."""
    return scope.last_read_at is not None and at > scope.last_read_at and at - scope.last_read_at >= age


def _lapsing(region: Region, now: datetime, most: int) -> list[Scope]:
    first = region.agenda.first()
    if first is None or first.at > now:  # the usual case, looked at in every transaction
        return []
    due = takewhile(lambda due: due.at <= now, region.agenda.soonest(most))
    return [region.scopes[key] for key in dict.fromkeys(each.key for each in due) if key in region.scopes]


class Pulses:
    """Tells the journal of reads: now and then of all, and in time of those without which a scope would lapse."""

    def __init__(
        self, book: ReadBook, clock: Clock, standing: Standing, disable_after: timedelta, *, shared: bool
    ) -> None:
        self._book = book
        self._clock = clock
        self._standing = standing
        self._pulse_every = min(_PULSE_EVERY, disable_after / 4) if shared else _PULSE_EVERY
        self._keep_every = min(_KEEP_EVERY, disable_after / 8)

    async def pulse_on(self, writing: Writes) -> None:
        """Once an hour of the region's time; more often where nodes share a region whose scopes lapse soon."""
        while True:
            await self._clock.sleep_until(self._clock.now() + self._pulse_every)
            if not self._standing.odds:
                for pulse in _pulses(self._book.newer_than(writing.region, self._pulse_every)):
                    await writing.submit_ours(pulse, VM)

    async def keep_on(self, writing: Writes) -> None:
        """Write reads down before their scopes lapse: the leader knows of other nodes' reads by the journal alone."""
        while True:
            await asyncio.sleep(self._keep_every.total_seconds())
            soon = self._clock.now() + 2 * self._keep_every
            if not self._standing.odds and (kept := self._book.keeping_alive(writing.region, soon)):
                await writing.submit_ours(Pulse(tuple(kept)), VM)

    def last(self, region: Region) -> list[Pulse]:
        """All reads that the journal does not know yet, for a node that closes; at least one pulse, if an empty one."""
        reads = [] if self._standing.odds else self._book.newer_than(region, timedelta(0))
        return _pulses(reads) or [Pulse(())]


def _pulses(reads: list[tuple[str, datetime]]) -> list[Pulse]:
    portions = (reads[first : first + _PULSE_MOST] for first in range(0, len(reads), _PULSE_MOST))
    return [Pulse(tuple(portion)) for portion in portions]
