"""Who has read when. Kept in memory, because a journal entry for each poll would be a write for each poll."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import takewhile

from forewarn.core.region import Region, Scope, fold
from forewarn.core.settle import DUE_MOST


class ReadBook:
    """The last read of each VM since the journal last heard of it."""

    def __init__(self) -> None:
        self._last: dict[str, datetime] = {}  # by name as given: folding it at each poll would cost more than the entry

    def note(self, name: str, at: datetime) -> None:
        self._last[name] = at

    def newer_than(self, region: Region, age: timedelta) -> list[tuple[str, datetime]]:
        """The last read of each scope that the journal does not know, where it is newer by ``age`` or more.

        What the journal knows is forgotten, but not yet what is answered here, for writing it may fail. So the book
        holds at most one entry for each VM that still polls. Those of one second are given its last instant, so that
        they can share a fact: a scope may lapse by so much later, and never earlier.
        """
        newest = self._newest(region)
        self._last = {name: at for name, at, scope in newest.values() if _is_newer(scope, at, timedelta(0))}
        found = sorted((at, fold(name)) for name, at, scope in newest.values() if _is_newer(scope, at, age))
        last_in = {at.replace(microsecond=0): at for at, _ in found}
        return [(name, last_in[at.replace(microsecond=0)]) for at, name in found]

    def keeping_alive(self, region: Region, now: datetime, commands: int = 1) -> list[tuple[str, datetime]]:
        """The reads that keep scopes enabled whose 24 hours would otherwise be over by ``now``.

        So many commands settle so much and no more, and what they leave is looked at with the next ones. Costs what is
        due, not what was read; and may be called while another thread notes what it hears.
        """
        kept: list[tuple[str, datetime]] = []
        for scope in _lapsing(region, now, (commands + 1) * DUE_MOST):
            reads = [(self._last.get(vm.name), vm.key) for vm in region.members_of(scope)]
            newest = max(((at, key) for at, key in reads if at is not None), default=None)
            if newest is not None and _is_newer(scope, newest[0], timedelta(microseconds=1)):
                kept.append((newest[1], newest[0]))
        return kept

    def _newest(self, region: Region) -> dict[str, tuple[str, datetime, Scope]]:
        newest: dict[str, tuple[str, datetime, Scope]] = {}
        for name, at in self._last.items():
            vm = region.vms.get(fold(name))
            if vm is None:
                continue
            known = newest.get(vm.scope)
            if known is None or at > known[1]:
                newest[vm.scope] = (name, at, region.scope_of(vm))
        return newest


def _is_newer(scope: Scope, at: datetime, age: timedelta) -> bool:
    """A scope that is not enabled waits for its first read to go through ``enable``, not through the book."""
    return scope.last_read_at is not None and at > scope.last_read_at and at - scope.last_read_at >= age


def _lapsing(region: Region, now: datetime, most: int) -> list[Scope]:
    due = takewhile(lambda due: due.at <= now, region.agenda.soonest(most))
    return [region.scopes[key] for key in dict.fromkeys(each.key for each in due) if key in region.scopes]
