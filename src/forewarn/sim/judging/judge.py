"""The judge: folds the journal with the oracle, which shares no rule with the product, and reports violations.

It reports facts that no rule allows, documents that are not what the facts make, agents that break their promise, and
the region's own invariants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.invariants import region as invariants
from forewarn.core.looking.subjects import subject_of
from forewarn.core.region import Region
from forewarn.plane.ports import Record
from forewarn.sim.circumstances import Blame, Circumstances
from forewarn.sim.judging.eyes import Eyes
from forewarn.sim.judging.promises import Promises
from forewarn.sim.oracle import Oracle, OracleSettings

_CLOCKS_ARE_WRONG_BY = 180.0  # seconds: more than any clock is set by for longer than a moment


class Judge:
    """Looks at every transaction and at every answer. The first thing that is wrong ends the simulation."""

    def __init__(
        self,
        world: Circumstances,
        blame: Blame,
        settings: OracleSettings,
        *,
        whole_every: int,
        many_nodes: bool,
        staleness: timedelta,
        lag: timedelta,
    ) -> None:
        self._world, self._blame, self._settings = world, blame, settings
        self._whole_every = whole_every
        self._steps = 0
        self.counts: Counter[str] = Counter()
        self.oracle = Oracle(settings)
        behind = lag + staleness
        self.eyes = Eyes(
            world, self.oracle, blame, self.counts, behind_seconds=behind.total_seconds(), many_nodes=many_nodes
        )
        self._promises = Promises(world, blame, self.counts, lag.total_seconds())

    def look(self, before: Region, records: Sequence[Record], now: datetime) -> None:
        """After each transaction: what it touched; every so often, everything."""
        self._steps += 1
        self.counts["invariants checked"] += 1
        touched: dict[str, None] = {}
        for record in records:
            touched.update(dict.fromkeys(self._scopes_near(record.fact)))
            self._follow(record.fact)
            touched.update(dict.fromkeys(self._scopes_near(record.fact)))
        ahead = self._world.seconds(now) - self._world.ticks()
        if ahead > _CLOCKS_ARE_WRONG_BY:
            self._blame("clock", f"the region's time is {ahead:.0f} s ahead", subject_of(records[-1].fact))
        for sentence in self.oracle.settled(now):
            self._blame("law", sentence, subject_of(records[-1].fact))
        self._number(touched)
        self._ask_the_region(before, records, now)

    def look_at_all(self, now: datetime) -> None:
        """Every scope, and every invariant."""
        self._number(self.oracle.memory.audiences)
        wrong = invariants.violations(
            self._world.truth, now=now, user_operation_limit=self._settings.user_operation_limit
        )
        self.counts["whole regions checked"] += 1
        if wrong:
            self._blame("invariant", wrong[0], "")

    # The oracle's opinion

    def _follow(self, fact: f.Fact) -> None:
        works = self.oracle.memory.works
        for sentence in self.oracle.fold(fact):
            self._blame("law", sentence, subject_of(fact))
        match fact:
            case f.EventApproved(event_id=key, by=by) if key in works:
                self._promises.watch_approval(works[key], by.lower())
            case f.ImpactBegan(event_id=key) if key in works:
                self._promises.watch_impact(works[key], fact.at)
            case f.ScopeDisabled(scope=scope):
                self.eyes.disabled(scope)
            case f.EventCompleted(event_id=key):
                self.eyes.endings[key] = "completed"
            case f.EventCanceled(event_id=key):
                self.eyes.endings[key] = "canceled"

    def _scopes_near(self, fact: f.Fact) -> Iterator[str]:
        """The scopes that a fact may have given another document."""
        memory = self.oracle.memory
        event = getattr(fact, "event", None) or memory.works.get(getattr(fact, "event_id", ""))
        machine = memory.machines.get(getattr(fact, "vm", ""))
        found = (event and event.scope, machine and machine.scope, getattr(fact, "scope", None))
        yield from (scope for scope in found if scope)
        yield from getattr(fact, "scopes", ())

    def _number(self, scopes: Iterable[str]) -> None:
        """A number is the product's to give: it names one document, and never comes again."""
        for key in scopes:
            scope = self._world.truth.scopes.get(key)
            enabled = scope is not None and scope.enabled_at is not None
            if enabled != self.oracle.is_enabled(key):
                self._blame("law", f"{key} is {'enabled' if enabled else 'disabled'}, and should not be", key)
            elif scope is not None and enabled:
                for sentence in self.oracle.number(key, scope.incarnation):
                    self._blame("number", sentence, key)
                self.eyes.keep(key, scope.incarnation)

    # The region's own

    def _ask_the_region(self, before: Region, records: Sequence[Record], now: datetime) -> None:
        vms, events = _touched(before, self._world.truth, records)
        wrong = invariants.violations_near(self._world.truth, vms, events)
        if wrong:
            self._blame("invariant", wrong[0], subject_of(records[-1].fact))
        elif self._steps % self._whole_every == 0:
            self.look_at_all(now)


def _touched(before: Region, after: Region, records: Sequence[Record]) -> tuple[list[str], list[str]]:
    """The VMs and events that facts were about."""
    vms: dict[str, None] = {}
    events: dict[str, None] = {}
    for record in records:
        subject = subject_of(record.fact)
        kind, _, name = subject.partition("/")
        event = after.events.get(subject) or before.events.get(subject)
        if kind == "vm":
            vms[name] = None
        elif event is not None:
            events[subject] = None
            vms.update(dict.fromkeys(event.vms))
    for name in vms:
        vm = after.vms.get(name)
        events.update(dict.fromkeys(vm.events if vm is not None else ()))
    return [*vms], [*events]
