"""The region and its VMs on one virtual clock: production's core behind its writer, impacts as the plane brings them.

Nothing waits: the clock jumps to whatever comes next, a deadline of the region or a turn of an agent. Polls that would
show an unchanged document are left out, because they change nothing.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core import invariants
from forewarn.core.documents import document_for, shown
from forewarn.core.refusal import Refused
from forewarn.core.region import Event, Power, Region, fold
from forewarn.core.rules import Rules
from forewarn.core.settle import next_deadline
from forewarn.drivers.simulated import SimulatedDriver
from forewarn.guest.agent.config import AgentConfig
from forewarn.guest.agent.handling import end_by
from forewarn.guest.agent.policy import chosen_steps, decide
from forewarn.guest.watch import Ended, Ending
from forewarn.plane.ports import Origin
from forewarn.plane.writer import Asked, Writer
from forewarn.stores.memory import MemoryJournal
from forewarn.terms import Document
from forewarn.wire.document import decode_document, encode_document
from forewarn.wire.versions import NEWEST
from tests.sim.guest import Guest

START = datetime(2026, 3, 2, tzinfo=UTC)
_ALIVE = (Power.RUNNING, Power.FROZEN)
_SLACK_SECONDS = 4.0  # a poll, calling off what runs, and the pauses between two turns
_CHECK_EVERY = timedelta(hours=2)
Configure = Callable[[str], AgentConfig]


class World:
    """Everything that is simulated, and the rules that are watched on the way."""

    def __init__(self, random: Random, configure: Configure) -> None:
        self.random, self._configure = random, configure
        self.now = START
        self.rules = Rules(update_domains=3, fault_domains=2, vms_per_host=8)  # so that sets share hosts
        self.guests: dict[str, Guest] = {}
        self.counts: Counter[str] = Counter()
        self._writer = Writer(MemoryJournal(), self.rules, lambda: self.now)
        self._driver = SimulatedDriver()
        self._turns: list[tuple[datetime, int, str]] = []
        self._number = count()
        self._documents: dict[str, tuple[tuple[datetime | None, int], Document]] = {}
        self._endings: dict[str, str] = {}
        self._hit: dict[str, tuple[str, ...]] = {}  # events under impact -> their VMs
        self._checked_at = START

    @property
    def region(self) -> Region:
        return self._writer.region

    def seed(self) -> str:
        return f"{self.random.getrandbits(128):032x}"

    # Time

    def run_until(self, to: datetime) -> None:
        while True:
            due, turn = next_deadline(self.region), self._turns[0][0] if self._turns else None
            times = [at for at in (due, turn) if at is not None]
            if not times or min(times) > to:
                self.now = to
                return
            self.now = max(self.now, min(times))
            if due is not None and due <= self.now:
                self.do(c.Tick())
            else:
                self._turn()

    def _turn(self) -> None:
        at, _, name = heapq.heappop(self._turns)
        guest = self.guests.get(name)
        if guest is not None and guest.next_at == at:
            guest.next_at = None
            self.counts["turns"] += 1
            guest.turn(self.now)

    def wake(self, guest: Guest, at: datetime) -> None:
        if guest.next_at is None or at < guest.next_at:
            guest.next_at = at
            heapq.heappush(self._turns, (at, next(self._number), guest.name.lower()))

    # The region

    def do(self, command: c.Command, who: str = "week") -> bool:
        """Whether it was taken. Whatever follows from it has happened when this returns."""
        before, asked = self.region, [Asked(command, Origin("sim", who))]
        taken = True
        while asked:
            written = self._writer.write(asked)
            for answer in written.answers:
                if isinstance(answer, Refused):
                    taken = False
                elif isinstance(answer, Exception):
                    raise answer
            asked = []
            for record in written.records:
                self._watch(record.fact)
                if (event := self._started(record.fact)) is not None:
                    ends_at = self._driver.begin(event, self.now)
                    asked.append(Asked(c.BeginImpact(event.id, ends_at), Origin("driver")))
            self._announce(before)
            before = self.region
        if self.now - self._checked_at >= _CHECK_EVERY:
            self.check()
        return taken

    def check(self) -> None:
        self._checked_at = self.now
        invariants.check(self.region, now=self.now, user_operation_limit=self.rules.user_operation_limit)

    def _started(self, fact: f.Fact) -> Event | None:
        if isinstance(fact, f.EventStarted):
            return self.region.events.get(fact.event_id)
        return self.region.events.get(fact.event.id) if isinstance(fact, f.EventBornStarted) else None

    def _announce(self, before: Region) -> None:
        """Whoever's document has changed sees it at the next poll."""
        if self.region.scopes is before.scopes:
            return
        for key, scope in self.region.scopes.items():
            earlier = before.scopes.get(key)
            if earlier is not None and (earlier.incarnation, earlier.enabled_at) == (
                scope.incarnation,
                scope.enabled_at,
            ):
                continue
            for vm in self.region.members_of(scope):
                if vm.key in self.guests:
                    self.guests[vm.key].notice(self.now)

    def _watch(self, fact: f.Fact) -> None:
        self.counts[type(fact).__name__] += 1
        match fact:
            case f.VmCreated(name=name):
                guest = Guest(name, self._configure(name), Random(self.random.getrandbits(64)), self, self.now)
                self.guests[fold(name)] = guest
                guest.power_on(self.now)
            case f.VmDeleted(vm=key):
                self.guests.pop(key)
            case f.VmStopped(vm=key) | f.VmDeallocated(vm=key) | f.VmStarted(vm=key):
                self._sync((key,))
            case f.EventApproved(event_id=event_id, by=by):
                self._watch_approval(self.region.events.get(event_id), by)
            case f.ImpactBegan(event_id=event_id):
                event = self.region.events.get(event_id)
                if event is not None:
                    self._watch_impact(event)
                    self._hit[event_id] = event.vms
                    self._sync(event.vms)
            case f.ImpactEnded(event_id=event_id):
                self._sync(self._hit.pop(event_id, ()))
            case f.EventCompleted(event_id=event_id):
                self._endings[event_id] = "completed"
            case f.EventCanceled(event_id=event_id):
                self._endings[event_id] = "canceled"

    def _sync(self, keys: Iterable[str]) -> None:
        """A guest is what its VM's power says."""
        for key in keys:
            vm, guest = self.region.vms.get(key), self.guests.get(key)
            if vm is None or guest is None:
                continue
            if vm.power not in _ALIVE:
                guest.power_off(self.now, disk_lost=vm.power is Power.REIMAGING)
            else:
                guest.power_on(self.now)
                self._freeze(guest, frozen=vm.power is Power.FROZEN)

    def _freeze(self, guest: Guest, *, frozen: bool) -> None:
        if guest.frozen and not frozen:
            guest.hinder(self.now - timedelta(seconds=10), self.now)
            guest.frozen = False
            self.wake(guest, self.now)
        guest.frozen = frozen

    # What must hold

    def _watch_approval(self, event: Event | None, by: str) -> None:
        """Only a guest's approval is a promise; the operator and the policy ask nobody."""
        if event is None or by not in self.guests:
            return
        self.counts["approvals by guests"] += 1
        for key in event.vms:
            guest = self.guests[key]
            wanted = self._wanted(guest, event)
            assert guest.prepared_for(wanted), (
                f"{by} approved {event.id} ({event.cause}) at {self.now}, and {key} is not ready: "
                f"{guest.changed} instead of {wanted}"
            )
        self.counts["shared approvals by guests"] += len(event.resources) > 1

    def _watch_impact(self, event: Event) -> None:
        if not event.announced or event.not_before <= event.scheduled_at:
            return
        for key in event.vms:
            guest = self.guests[key]
            wanted = self._wanted(guest, event)
            if not wanted:
                continue
            if guest.prepared_for(wanted):
                self.counts["hit prepared"] += 1
            elif self._had_time(guest, event, wanted):
                raise AssertionError(
                    f"{key} was hit by {event.id} ({event.cause}) at {self.now} unprepared, with notice since "
                    f"{event.scheduled_at} to {event.not_before}: {guest.changed} instead of {wanted}; "
                    f"it knew {guest.unfinished()}"
                )
            else:
                self.counts["hit unprepared, without enough time"] += 1

    def _wanted(self, guest: Guest, event: Event) -> tuple[str, ...]:
        decision = decide(guest.config.rules, shown(event), guest.name)
        return tuple(step.name for step in chosen_steps(decision, guest.config.steps))

    def _had_time(self, guest: Guest, event: Event, wanted: tuple[str, ...]) -> bool:
        """Whether undisturbed time was left for every step to take as long as it may."""
        deadline = end_by(event.not_before, event.scheduled_at, guest.config.margin_seconds)
        whole = (min(deadline, self.now) - event.scheduled_at).total_seconds()
        needed = sum(step.timeout_seconds or 60.0 for step in guest.config.steps if step.name in wanted)
        given_up = any(not effect.again for effect in guest.state.effects if effect.step.name in wanted)
        free = whole - guest.hindered_seconds(event.scheduled_at, deadline) - _SLACK_SECONDS
        return free >= needed and not given_up

    # What guests reach

    def document(self, name: str) -> Document | None:
        """Through the bytes of the wire. The first read of a scope enables it."""
        vm = self.region.vms[fold(name)]
        scope = self.region.scope_of(vm)
        if scope.enabled_at is None:
            self.do(c.Pulse(((vm.key, self.now),)), name)
            scope = self.region.scope_of(self.region.vms[fold(name)])
        known, stamp = self._documents.get(scope.key), (scope.enabled_at, scope.incarnation)
        if known is None or known[0] != stamp:
            body = encode_document(document_for(self.region, scope), NEWEST)
            document = decode_document(body)
            assert document is not None
            known = self._documents[scope.key] = (stamp, document)
        return known[1]

    def approve(self, name: str, event_id: str) -> bool:
        vm = self.region.vms[fold(name)]
        return self.do(c.Approve((event_id,), vm.key, vm.scope), name)

    def is_approved(self, event_id: str) -> bool:
        event = self.region.events.get(event_id)
        return event is not None and event.phase.value == "approved"

    def guest(self, name: str) -> Guest | None:
        return self.guests.get(fold(name))

    def ended(self, name: str, change: Ended) -> None:
        """The watcher may not know how an event ended, but what it says is true."""
        truth = self._endings.get(change.event.event_id)
        self.counts[f"watched: {change.how}"] += 1
        assert change.how is Ending.UNKNOWN or change.how.value == truth, f"{name}: {change} in truth was {truth}"

    def pulse(self) -> None:
        """What the plane does every hour: the reads of all who could read."""
        reads = [g for g in self.guests.values() if g.agent_up and g.faults_until <= self.now]
        scopes = {self.region.vms[fold(g.name)].scope: fold(g.name) for g in reads}
        self.do(c.Pulse(tuple((key, self.now) for key in scopes.values())))
