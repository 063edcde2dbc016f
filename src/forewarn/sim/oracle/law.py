"""The oracle: facts in, documents and complaints out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.sim.oracle import encoding
from forewarn.sim.oracle.births import born, wrong_births
from forewarn.sim.oracle.encoding import Paper
from forewarn.sim.oracle.memory import Audience, Memory, OracleEvent, OracleVm, Turn
from forewarn.sim.oracle.tables import API_VERSIONS, USER_OPERATIONS, OracleSettings

# Ours: at most, between the read and its fact, with every misfortune in between
_ENABLING_TAKES = timedelta(minutes=10)
_BEGINNING_TAKES = timedelta(minutes=30)  # ours: at most, where the journal fails again and again
_NEWEST = API_VERSIONS[-1]


class Oracle:
    """Folds one region's facts, in their order. ``fold`` and ``settled`` answer with a sentence for each wrong."""

    def __init__(self, settings: OracleSettings | None = None) -> None:
        self._settings = settings or OracleSettings()
        self.memory = Memory()
        self._withdrawn: dict[str, str] = {}  # host work of which an event was canceled -> that event

    # What guests see

    def is_enabled(self, scope: str) -> bool:
        """Whether a VM of the scope reads."""
        return self.memory.audience(scope).reading

    def document(self, scope: str, api_version: str, incarnation: int) -> bytes:
        """The body of a 200 to any VM of the scope. Which number it has is for the product to say: ``number``."""
        return encoding.document(self._shown(scope), self.memory.audience(scope).kind, api_version, incarnation)

    def paper(self, scope: str) -> Paper:
        """The scope's document as it is now, for later."""
        works = tuple(replace(work, labels=[*work.labels]) for work in self._shown(scope))
        return Paper(works, self.memory.audience(scope).kind)

    def _shown(self, scope: str) -> list[OracleEvent]:
        return [work for work in self.memory.works.values() if work.shown and work.scope == scope]

    def number(self, scope: str, incarnation: int) -> list[str]:
        """Note that the scope's document has this number now: one number, one document, and never back."""
        audience = self.memory.audience(scope)
        content = self.document(scope, _NEWEST, 0).decode()
        wrong = []
        if incarnation < max(1, audience.number):
            wrong.append(f"document {incarnation} of {scope} comes after document {audience.number}")
        elif incarnation == audience.number and content != audience.noted:
            wrong.append(f"document {incarnation} of {scope} said {audience.noted}, and says {content}")
        audience.number, audience.noted = incarnation, content
        return wrong

    # What happens

    def fold(self, fact: f.Fact) -> list[str]:
        """Take in the next fact; what no rule allows is told, and taken in all the same."""
        match fact:
            case f.EventScheduled() | f.EventBornStarted():
                return self._born(fact)
            case (
                f.EventApproved() | f.EventStarted() | f.EventCanceled() | f.EventCompleted()
                | f.ImpactBegan() | f.ImpactEnded() | f.VmSpared()
            ):  # fmt: skip
                work = self.memory.works.get(fact.event_id)
                return (
                    [f"{type(fact).__name__} of {fact.event_id}, which is not there"]
                    if work is None
                    else [*self._moved(fact, work)]
                )
            case f.ScopeEnabled() | f.ScopeDisabled() | f.ScopeRead() | f.ScopesRead():
                return [*self._reads(fact)]
            case _:
                self._rest(fact)
                return []

    def settled(self, now: datetime) -> list[str]:
        """After all facts of one transaction at ``now``: nothing that follows by itself was left undone."""
        wrong = [sentence for work in self.memory.works.values() for sentence in self._overdue(work, now)]
        for key, audience in self.memory.audiences.items():
            if audience.reading and audience.lapses_at is not None and audience.lapses_at <= now:
                wrong.append(f"{key} has not read since long before {audience.lapses_at} and is still enabled")
        for batch, event_id in self._withdrawn.items():
            left = [each.id for each in self.memory.works.values() if each.batch == batch and each.pending]
            if left:
                wrong.append(f"{event_id} was canceled, and {left[0]}, which is the same work, was not")
        self._withdrawn.clear()
        limit = self._settings.user_operation_limit
        waiting = [each for each in self.memory.works.values() if each.pending and each.cause in USER_OPERATIONS]
        if limit and len([each for each in waiting if each.shown]) > limit:
            wrong.append(f"{len(waiting)} user operations are scheduled at once, and {limit} may be")
        return wrong

    def _overdue(self, work: OracleEvent, now: datetime) -> Iterator[str]:
        if not work.victims:
            yield f"{work.id} has nobody left to hit and has not ended"
        elif work.pending:
            if work.not_before <= now and not self._waits_its_turn(work):
                yield f"{work.id} ({work.cause}) is not started at {now}, and its NotBefore was {work.not_before}"
            elif work.approved and not self._awaited(work) and not self._waits_its_turn(work):
                yield f"all have approved {work.id} ({work.cause}), and it is not started at {now}"
        elif work.began_at is None and work.started_at is not None and work.started_at + _BEGINNING_TAKES < now:
            yield f"{work.id} ({work.cause}) started at {work.started_at}, and its impact has not begun at {now}"
        elif work.over_at is not None and work.over_at <= now:
            yield f"{work.id} ({work.cause}) was over at {work.over_at} and is still there at {now}"
        elif work.under_way and work.impact_ends_at is not None and work.impact_ends_at <= now:
            yield f"the impact of {work.id} was to end at {work.impact_ends_at} and goes on at {now}"

    def _waits_its_turn(self, work: OracleEvent) -> bool:
        """Impacts on one VM never overlap: what is due then waits, and with it its batch."""
        victims = {key for each in self.memory.batch(work) for key in each.victims}
        return any(
            not other.pending and other.impact_over_at is None and victims & set(other.victims)
            for other in self.memory.works.values()
        )

    # Events

    def _born(self, fact: f.EventScheduled | f.EventBornStarted) -> list[str]:
        missing = [key for key in fact.event.vms if key not in self.memory.machines]
        if missing or not fact.event.vms:
            return [f"{fact.event.id} is about {missing or 'nobody'}, and there is no such VM"]
        work = born(self.memory, self._settings, fact)
        wrong = [*wrong_births(self.memory, self._settings, fact, work)]
        self.memory.works[work.id] = work
        self.memory.used.add(work.id)
        return wrong

    def _moved(
        self,
        fact: f.EventApproved | f.EventStarted | f.EventCanceled | f.EventCompleted | f.ImpactBegan | f.ImpactEnded
        | f.VmSpared,
        work: OracleEvent,
    ) -> Iterator[str]:  # fmt: skip
        match fact:
            case f.EventApproved(by=by):
                yield from self._wrong_approval(work, by)
                work.approved = True
            case f.EventStarted():
                yield from self._wrong_start(work, fact.at)
                work.started_at = fact.at
            case f.EventCanceled():
                if not work.pending:
                    yield f"{work.id} was canceled after it had started"
                if work.victims and work.host is not None:
                    self._withdrawn[work.batch] = work.id
                del self.memory.works[work.id]
            case f.ImpactBegan(ends_at=ends_at):
                yield from self._wrong_impact(work)
                work.began_at, work.impact_ends_at = fact.at, ends_at
            case f.ImpactEnded():
                if not work.under_way:
                    yield f"the impact of {work.id} ended and was not under way"
                work.impact_over_at = fact.at
            case f.EventCompleted():
                yield from self._wrong_end(work, fact.at)
                del self.memory.works[work.id]
            case f.VmSpared(vm=key):
                self.memory.leave(key, work)

    def _wrong_approval(self, work: OracleEvent, by: str) -> Iterator[str]:
        """By the operator, by a VM of the scope, or by a rule whose condition holds."""
        if not work.pending or work.approved:
            yield f"{work.id} was approved again"
        if by.startswith("nobody:") and work.shown:
            yield f"{work.id} was approved as if nobody read it"
        if by.startswith("policy:") and not self._approves_itself(work):
            down = all(self.memory.machines[key].down for key in work.victims)
            if not down or not self.memory.audience(work.scope).all_down:
                yield f"{work.id} was approved by a policy that does not say so"
        scopes = {each.scope for each in self.memory.machines.values() if each.label == by}
        if scopes and work.scope not in scopes:
            yield f"{work.id} of {work.scope} was approved by {by} of {sorted(scopes)}"

    def _approves_itself(self, work: OracleEvent) -> bool:
        """A user's operation that waits for its turn only, by the policy of the scope."""
        audience = self.memory.audience(work.scope)
        auto = {"user-restart": audience.auto_reboot, "user-redeploy": audience.auto_redeploy}
        return auto.get(work.cause, False)

    def _wrong_start(self, work: OracleEvent, at: datetime) -> Iterator[str]:
        if not work.pending:
            yield f"{work.id} was started twice"
        if at >= work.not_before:
            return
        awaited = self._awaited(work)
        if awaited or (work.shown and not work.approved):
            yield (
                f"{work.id} ({work.cause}) started before its NotBefore, "
                f"and nobody had approved {', '.join(awaited) or 'it'}"
            )

    def _awaited(self, work: OracleEvent) -> list[str]:
        """Whose approval the host, or the scale set, still waits for."""
        return [each.id for each in self.memory.batch(work) if each.pending and each.shown and not each.approved]

    def _wrong_impact(self, work: OracleEvent) -> Iterator[str]:
        if work.began_at is not None:
            yield f"the impact of {work.id} began twice"
        if work.pending:
            yield f"the impact of {work.id} began before it had started"
        for other in self.memory.works.values():
            both = set(other.victims) & set(work.victims)
            failed = "failure" in (other.cause, work.cause)  # a host that breaks does not wait for other events
            if other is not work and other.under_way and both and not failed:
                yield f"{work.id} ({work.cause}) hits {min(both)} while {other.id} ({other.cause}) has it in hand"

    def _wrong_end(self, work: OracleEvent, at: datetime) -> Iterator[str]:
        if not work.victims:
            return
        if work.over_at is None:
            yield f"{work.id} ended before its impact was over"
        elif at < work.over_at and not work.shown_late:
            yield f"{work.id} ({work.cause}) ended at {at}, and its recovery lasts until {work.over_at}"

    # Scopes

    def _reads(self, fact: f.ScopeEnabled | f.ScopeDisabled | f.ScopeRead | f.ScopesRead) -> Iterator[str]:
        after = self._settings.disable_after
        match fact:
            case f.ScopeEnabled(scope=scope):
                audience = self.memory.audience(scope)
                if audience.reading:
                    yield f"{scope} was enabled twice"
                if not timedelta(0) <= fact.at + after - fact.lapses_at < _ENABLING_TAKES:
                    yield f"{scope} was enabled at {fact.at} until {fact.lapses_at}"
                audience.reading, audience.lapses_at = True, fact.lapses_at
                self._announce(scope, fact.at)
            case f.ScopeDisabled(scope=scope):
                audience = self.memory.audience(scope)
                if audience.lapses_at is None or fact.at < audience.lapses_at:
                    yield f"{scope} was disabled at {fact.at}, and may read until {audience.lapses_at}"
                audience.reading, audience.lapses_at = False, None
            case f.ScopeRead(scope=scope):
                yield from self._read((scope,), fact)
            case f.ScopesRead(scopes=scopes):
                yield from self._read(scopes, fact)

    def _read(self, scopes: tuple[str, ...], fact: f.ScopeRead | f.ScopesRead) -> Iterator[str]:
        if fact.read_at > fact.at or fact.lapses_at != fact.read_at + self._settings.disable_after:
            yield f"{scopes} read at {fact.read_at} (told at {fact.at}) and lapse at {fact.lapses_at}"
        for scope in scopes:
            self.memory.audience(scope).lapses_at = fact.lapses_at

    def _announce(self, scope: str, at: datetime) -> None:
        """A scope that begins to read is told of all that is ahead, and is asked. What is told later stands last."""
        works = self.memory.works
        untold = [each for each in works.values() if each.scope == scope and each.pending and not each.shown]
        for work in sorted(untold, key=lambda each: (each.born_at, each.id)):
            if work.cause == "reimage" and self.memory.machines[work.victims[0]].image_notice is None:
                continue
            work.shown, work.shown_late, work.approved = True, True, False
            work.shown_at = at
            work.recovery = self._settings.recovery(work.cause)
            works[work.id] = works.pop(work.id)

    # Machines and the rest

    def _rest(self, fact: f.Fact) -> None:
        match fact:
            case f.VmCreated():
                self.memory.machines[fact.name.lower()] = _machine(fact)
            case f.VmMoved(vm=key, host=host):
                self._moves_to(key, host)
            case f.VmStarted(vm=key, host=host):
                self.memory.machines[key].down = False
                self._moves_to(key, host)
            case f.VmStopped(vm=key):
                self.memory.machines[key].down = True
            case f.VmDeallocated(vm=key):
                self.memory.machines[key].down = True
                self.memory.machines[key].host = None
            case f.VmDeleted(vm=key):
                self._deleted(key)
            case f.VmRespecified(vm=key, spec=spec) | f.InstanceUpgraded(vm=key, spec=spec):
                machine = self.memory.machines[key]
                machine.terminate_notice, machine.image_notice = spec.terminate_notice, spec.os_image_notice
            case f.PolicySet(scope=scope, policy=policy):
                audience = self.memory.audience(scope)
                audience.auto_reboot, audience.auto_redeploy = policy.auto_approve_reboot, policy.auto_approve_redeploy
                audience.all_down = policy.all_instances_down
            case f.ScopeRemoved(scope=scope):
                self._forget(scope)
            case f.ScaleSetDeleted(scale_set=key):
                for scope in [each for each in self.memory.audiences if each.startswith(f"placement-group/{key}~")]:
                    self._forget(scope)
            case f.CampaignStarted(campaign_id=key, hosts_at_once=at_once):
                self.memory.turns[key] = Turn(at_once)
            case f.CampaignPaused(campaign_id=key) | f.CampaignCanceled(campaign_id=key):
                self.memory.turns[key].running = False
            case f.CampaignResumed(campaign_id=key):
                self.memory.turns[key].running = True
            case f.CampaignCompleted(campaign_id=key):
                self.memory.turns[key].running = False

    def _moves_to(self, key: str, host: int) -> None:
        """A VM is at another host now: work that is still ahead of the old one does not concern it any more."""
        self.memory.machines[key].host = host
        for work in self.memory.of(key):
            if work.pending and work.host not in (None, host):
                self.memory.leave(key, work)

    def _deleted(self, key: str) -> None:
        machine = self.memory.machines.pop(key)
        for work in self.memory.of(key):
            self.memory.leave(key, work)
        if machine.kind == "vm":
            self._forget(machine.scope)

    def _forget(self, scope: str) -> None:
        """Forget all but its document numbers: a VM of the same name counts on from there."""
        before = self.memory.audience(scope)
        self.memory.audiences[scope] = Audience(before.kind, number=before.number, noted=before.noted)


def _machine(fact: f.VmCreated) -> OracleVm:
    spec = fact.spec
    kind = str(spec.kind.value)
    return OracleVm(
        name=fact.name,
        kind=kind,
        scope=f"{kind}/{(spec.set_name or fact.name).lower()}",
        label=f"{spec.role}_IN_{fact.number}" if kind == "cloud-service" else fact.name,
        number=fact.number,
        update_domain=fact.update_domain,
        host=fact.host,
        scale_set=spec.set_name.partition("~")[0].lower() if kind == "placement-group" else "",
        terminate_notice=spec.terminate_notice,
        image_notice=spec.os_image_notice,
    )
