"""What must never be: the region's invariants, what a guest may see on the wire, and what an agent promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from forewarn.core import facts as f
from forewarn.core.documents import document_for, shown
from forewarn.core.facts import subject_of
from forewarn.core.invariants import region as invariants
from forewarn.core.phases import Phase
from forewarn.core.region import Event, Region, Scope, fold
from forewarn.guest.agent.deciding.handling import end_by
from forewarn.guest.agent.deciding.policy import chosen_steps, decide
from forewarn.guest.http1 import Request, Response
from forewarn.guest.watch import Ended, Ending, Watcher
from forewarn.plane.ports import Record
from forewarn.sim.machines import Machine, Tenant
from forewarn.terms import Document
from forewarn.wire.document import decode_document, encode_document
from forewarn.wire.start_requests import decode_start_requests
from forewarn.wire.versions import NEWEST

_SLACK_SECONDS = 20.0  # a read, calling off what runs, and the pauses between two turns
_BELIEVED_SECONDS = 30.0  # so long others may still count on what a VM said before it lost its disk
_DELAYING = frozenset({"partition", "loss", "slow", "throttle"})  # what keeps answers under way
_REMEMBERED = 40  # documents of a scope that may still be under way

Blame = Callable[[str, str, str], None]  # rule, sentence, subject


class Circumstances(Protocol):
    """What the judge asks the world."""

    @property
    def truth(self) -> Region: ...

    @property
    def machines(self) -> dict[str, Machine]: ...

    def seconds(self, at: datetime) -> float: ...

    def ticks(self) -> float: ...

    def disturbed(self, vm: str, begin: float, kinds: Container[str] = ...) -> bool: ...


class _Scopes:
    """What the documents of one scope have really been, since its enabling and before."""

    def __init__(self) -> None:
        self.enabling = 0
        self.bodies: dict[tuple[int, bytes], int] = {}  # (incarnation, body) -> the enabling that it was of
        self.latest: tuple[int, bytes] = (0, b"")
        self.over_at: dict[tuple[int, bytes], float] = {}  # when a newer one took its place


class Judge:
    """Looks at every transaction and at every answer. The first thing that is wrong ends the simulation."""

    def __init__(
        self,
        world: Circumstances,
        blame: Blame,
        *,
        whole_every: int,
        user_operation_limit: int,
        many_nodes: bool,
        staleness_seconds: float,
    ) -> None:
        self._world, self._blame, self._many_nodes = world, blame, many_nodes
        self._oldest = _SLACK_SECONDS + (staleness_seconds if many_nodes else 0.0)
        self._whole_every, self._limit = whole_every, user_operation_limit
        self.counts: Counter[str] = Counter()
        self._scopes: dict[str, _Scopes] = {}
        self._last_seen: dict[str, tuple[int, int]] = {}  # VM -> enabling, incarnation
        self._watchers: dict[str, Watcher] = {}
        self._endings: dict[str, str] = {}
        self._steps = 0

    # The region

    def look(self, before: Region, records: Sequence[Record], now: datetime) -> None:
        """After each transaction: what it touched; every so often, everything."""
        region = self._world.truth
        self._steps += 1
        self.counts["invariants checked"] += 1
        for record in records:
            self._follow(record.fact)
        vms, events = _touched(before, region, records)
        wrong = invariants.violations_near(region, vms, events)
        if not wrong and self._steps % self._whole_every == 0:
            self.counts["whole regions checked"] += 1
            wrong = invariants.violations(region, now=now, user_operation_limit=self._limit)
        if wrong:
            self._blame("invariant", wrong[0], subject_of(records[-1].fact) if records else "")

    def look_at_all(self, now: datetime) -> None:
        wrong = invariants.violations(self._world.truth, now=now, user_operation_limit=self._limit)
        self.counts["whole regions checked"] += 1
        if wrong:
            self._blame("invariant", wrong[0], "")

    def _follow(self, fact: f.Fact) -> None:
        region = self._world.truth
        match fact:
            case f.EventScheduled(event=event) | f.EventBornStarted(event=event):
                self._keep(event.scope)
            case f.EventStarted(event_id=key) if key in region.events:
                self._keep(region.events[key].scope)
                self._watch_start(region.events[key], fact.at)
            case f.EventCompleted(event_id=key) | f.EventCanceled(event_id=key):
                self._endings[key] = "completed" if isinstance(fact, f.EventCompleted) else "canceled"
            case f.ScopeEnabled(scope=scope):
                self._scopes.setdefault(scope, _Scopes()).enabling += 1
                self._keep(scope)
            case f.EventApproved(event_id=key, by=by) if key in region.events:
                self._watch_approval(region.events[key], fold(by))

    def _watch_start(self, event: Event, at: datetime) -> None:
        if at < event.not_before and event.approved_at is None:
            told = f"{event.id} ({event.cause}) started before its NotBefore, and nobody had approved it"
            self._blame("early start", told, event.id)

    def changed(self, scope_key: str) -> None:
        """An event of this scope has ended."""
        self._keep(scope_key)

    def _keep(self, scope_key: str) -> None:
        scope = self._world.truth.scopes.get(scope_key)
        if scope is None or scope.enabled_at is None:
            return
        known = self._scopes.setdefault(scope_key, _Scopes())
        latest = (scope.incarnation, self._body(scope))
        if latest != known.latest:
            known.over_at[known.latest] = self._world.ticks()
            known.over_at.pop(latest, None)
            known.latest = latest
        known.bodies[latest] = known.enabling
        while len(known.bodies) > _REMEMBERED:
            oldest = next(iter(known.bodies))
            del known.bodies[oldest]
            known.over_at.pop(oldest, None)

    def _body(self, scope: Scope) -> bytes:
        return encode_document(document_for(self._world.truth, scope), NEWEST)

    # The wire

    def saw(self, vm: str, request: Request, response: Response) -> None:
        """A guest has got an answer."""
        self.counts["answers"] += 1
        if request.verb == "POST":
            if response.status == 200:
                self._approved(vm, request)
        elif response.status == 200 and response.body and "scheduledevents" in request.target:
            self._document(vm, response)

    def _approved(self, vm: str, request: Request) -> None:
        """What was answered with 200 is on disk: no event of it is still waiting for an approval."""
        for event_id in decode_start_requests(request.body):
            event = self._world.truth.events.get(event_id)
            if event is not None and event.phase is Phase.SCHEDULED:
                self._blame("acknowledged", f"{vm} was told that {event_id} is approved, and it is not", event_id)

    def _document(self, vm: str, response: Response) -> None:
        found = self._world.truth.vms.get(vm)
        if found is None:
            return
        known = self._scopes.get(found.scope)
        document = decode_document(response.body)
        if known is None or document is None:
            self._blame("wire", f"{vm} saw a document of a scope that is not enabled", f"vm/{vm}")
            return
        self.counts["documents seen"] += 1
        enabling = known.bodies.get((document.incarnation, response.body))
        if enabling is None:
            told = f"{vm} saw a document {document.incarnation} that never was: {response.body!r}"
            self._blame("wire", told, found.scope)
            return
        self._in_order(vm, enabling, document, found.scope)
        self._in_time(vm, known.over_at.get((document.incarnation, response.body)), document, found.scope)
        self._watch_endings(vm, document, response)

    def _in_order(self, vm: str, enabling: int, document: Document, scope: str) -> None:
        """Numbers never go back within an enabling."""
        last = self._last_seen.get(vm, (0, 0))
        if (enabling, document.incarnation) < last:
            self.counts["documents seen again by an older node"] += 1
            if not self._many_nodes:  # another node may be behind, within its bound
                told = f"{vm} saw document {document.incarnation} after document {last[1]} of the same enabling"
                self._blame("wire", told, scope)
        else:
            self._last_seen[vm] = (enabling, document.incarnation)

    def _in_time(self, vm: str, over_at: float | None, document: Document, scope: str) -> None:
        """Nobody is told what was true long ago, unless the answer itself was long under way."""
        age = 0.0 if over_at is None else self._world.ticks() - over_at
        if age > self._oldest and not self._world.disturbed(vm, over_at or 0.0, _DELAYING):
            told = f"{vm} saw document {document.incarnation}, which was not true any more for {age:.0f} s"
            self._blame("stale", told, scope)

    def _watch_endings(self, vm: str, document: Document, response: Response) -> None:
        """What production's watcher says about an end is true, or it says that it does not know."""
        at = self._world.truth.latest_at
        assert at is not None
        watcher = self._watchers.setdefault(vm, Watcher())
        for change in watcher.see(document, at):
            if isinstance(change, Ended):
                self.counts[f"ends watched: {change.how}"] += 1
                truth = self._endings.get(change.event.event_id)
                if change.how is not Ending.UNKNOWN and change.how.value != truth:
                    told = f"to {vm}, {change.event.event_id} seemed {change.how}; in truth it was {truth}"
                    self._blame("watcher", told, change.event.event_id)

    def forget(self, vm: str) -> None:
        """A VM of the same name may come again; its programs start anew."""
        self._last_seen.pop(vm, None)
        self._watchers.pop(vm, None)

    def restarted(self, vm: str) -> None:
        self._watchers.pop(vm, None)

    # What agents promise

    def _watch_approval(self, event: Event, by: str) -> None:
        """Only an agent's approval is a promise; operators, policies and other programs ask nobody."""
        approver = self._world.machines.get(by)
        if approver is None or approver.tenant is not Tenant.AGENT:
            return
        self.counts["approvals by agents"] += 1
        self.counts["shared approvals by agents"] += len(event.resources) > 1
        for key in event.vms:
            machine = self._world.machines.get(key)
            if machine is None or machine.tenant is not Tenant.AGENT:
                continue
            wanted = wanted_steps(machine, event)
            if machine.is_prepared(wanted) or self._lost_its_disk(machine):
                continue
            told = f"{by} approved {event.id} ({event.cause}), and {key} is not prepared: {machine.programs.changed}"
            self._blame("agent", told, event.id)

    def _lost_its_disk(self, machine: Machine) -> bool:
        latest = self._world.truth.latest_at
        return latest is not None and self._world.seconds(latest) - machine.disk_lost_at < _BELIEVED_SECONDS

    def watch_impact(self, event: Event, now: datetime) -> None:
        """Whoever had undisturbed time to prepare is prepared when it is hit."""
        if not event.announced or event.not_before <= event.scheduled_at:
            return
        for key in event.vms:
            machine = self._world.machines.get(key)
            if machine is None or machine.tenant is not Tenant.AGENT:
                continue
            wanted = wanted_steps(machine, event)
            if not wanted:
                continue
            if machine.is_prepared(wanted):
                self.counts["hit prepared"] += 1
            elif self._had_time(machine, event, wanted, now):
                told = (
                    f"{key} was hit by {event.id} ({event.cause}) unprepared, after a notice since "
                    f"{event.scheduled_at:%F %T}: {machine.programs.changed}; {machine.unfinished()}"
                )
                self._blame("agent", told, event.id)
            else:
                self.counts["hit unprepared, for want of time"] += 1

    def _had_time(self, machine: Machine, event: Event, wanted: tuple[str, ...], now: datetime) -> bool:
        """Whether nothing came between, and every step could have taken as long as it may."""
        begin = self._world.seconds(event.scheduled_at)
        if machine.troubled_since(begin) or self._world.disturbed(machine.key, begin - 120.0):
            return False
        deadline = min(end_by(event.not_before, event.scheduled_at, machine.config.margin_seconds), now)
        needed = sum(step.timeout_seconds or 60.0 for step in machine.config.steps if step.name in wanted)
        whole = (deadline - event.scheduled_at) / timedelta(seconds=1)
        free = whole - machine.silent_seconds(begin, self._world.seconds(deadline)) - _SLACK_SECONDS
        return free >= needed


def wanted_steps(machine: Machine, event: Event) -> tuple[str, ...]:
    """By the policy of the VM's own file."""
    decision = decide(machine.config, shown(event), machine.name)
    return tuple(step.name for step in chosen_steps(decision, machine.config.steps))


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
