"""What an agent promises: it approves only what its VMs are prepared for, and a VM that had the time is prepared."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from forewarn.guest.agent.values import Rule, Verdict
from forewarn.sim.circumstances import SLACK_SECONDS, Blame, Circumstances
from forewarn.sim.machines import Machine, Tenant
from forewarn.sim.oracle.memory import OracleEvent
from forewarn.sim.oracle.tables import KINDS

# Three times the agents' own BELIEVED_SECONDS: others may count on what a VM said before it lost its disk
_BELIEVED_SECONDS = 30.0
_PREPARING = (Verdict.PREPARE_THEN_APPROVE, Verdict.PREPARE_ONLY)
# What docs/agent.md says of events that no rule of the file fits.
_BUILT_IN = (
    Rule("eviction and deletion", Verdict.PREPARE_THEN_APPROVE, types=("Preempt", "Terminate")),
    Rule("user operations", Verdict.APPROVE_NOW, sources=("User",)),
    Rule("short freezes", Verdict.APPROVE_NOW, types=("Freeze",), shorter_than_seconds=30.0),
    Rule("everything else", Verdict.PREPARE_THEN_APPROVE),
)


class Promises:
    """Asks the machines themselves, not their agents, what has been done."""

    def __init__(self, world: Circumstances, blame: Blame, counts: Counter[str], lag_seconds: float) -> None:
        self._world, self._blame, self._counts = world, blame, counts
        self._slack = SLACK_SECONDS + lag_seconds

    def watch_approval(self, work: OracleEvent, by: str) -> None:
        """Only an agent's approval is a promise; operators, policies and other programs approve without preparing."""
        approver = self._world.machines.get(by)
        if approver is None or approver.tenant is not Tenant.AGENT:
            return
        self._counts["approvals by agents"] += 1
        self._counts["shared approvals by agents"] += len(work.labels) > 1
        for key in work.victims:
            machine = self._world.machines.get(key)
            if machine is None or machine.tenant is not Tenant.AGENT:
                continue
            if machine.is_prepared(wanted_steps(machine, work)) or self._lost_its_disk(machine):
                continue
            told = f"{by} approved {work.id} ({work.cause}), and {key} is not prepared: {machine.programs.changed}"
            self._blame("agent", told, work.id)

    def _lost_its_disk(self, machine: Machine) -> bool:
        return self._world.ticks() - machine.disk_lost_at < _BELIEVED_SECONDS

    def watch_impact(self, work: OracleEvent, now: datetime) -> None:
        """A VM whose agent had undisturbed time to prepare is prepared when it is hit."""
        if not work.shown or work.not_before <= work.shown_at:
            return
        for key in work.victims:
            machine = self._world.machines.get(key)
            if machine is None or machine.tenant is not Tenant.AGENT:
                continue
            wanted = wanted_steps(machine, work)
            if not wanted:
                continue
            if machine.is_prepared(wanted):
                self._counts["hit prepared"] += 1
            elif self._had_time(machine, work, wanted, now):
                told = (
                    f"{key} was hit by {work.id} ({work.cause}) unprepared, after a notice since "
                    f"{work.shown_at:%F %T}: {machine.programs.changed}; {machine.unfinished()}"
                )
                self._blame("agent", told, work.id)
            else:
                self._counts["hit unprepared, for want of time"] += 1

    def _had_time(self, machine: Machine, work: OracleEvent, wanted: tuple[str, ...], now: datetime) -> bool:
        """Whether nothing came between, and every step could have taken as long as it may."""
        begin = self._world.seconds(work.shown_at)
        if machine.troubled_since(begin) or self._world.disturbed(machine.key, begin - 120.0):
            return False
        deadline = min(_end_by(work, machine.config.margin_seconds), now)
        needed = sum(step.timeout_seconds or 60.0 for step in machine.config.steps if step.name in wanted)
        whole = (deadline - work.shown_at) / timedelta(seconds=1)
        return whole - machine.silent_seconds(begin, self._world.seconds(deadline)) - self._slack >= needed


def _end_by(work: OracleEvent, margin_seconds: float) -> datetime:
    """Preparations end a margin before NotBefore, or a quarter of the notice where that is less."""
    notice = (work.not_before - work.shown_at) / timedelta(seconds=1)
    return work.not_before - timedelta(seconds=min(margin_seconds, notice / 4))


def wanted_steps(machine: Machine, work: OracleEvent) -> tuple[str, ...]:
    """By the first rule that fits: the VM's own file, then what is built in."""
    rule = next(rule for rule in (*machine.config.rules, *_BUILT_IN) if _fits(rule, work))
    if rule.verdict not in _PREPARING:
        return ()
    names = tuple(step.name for step in machine.config.steps)
    return names if rule.steps is None else tuple(name for name in names if name in rule.steps)


def _fits(rule: Rule, work: OracleEvent) -> bool:
    kind, short = KINDS[work.cause], rule.shorter_than_seconds
    return (
        (not rule.types or kind.type in rule.types)
        and (not rule.sources or kind.source in rule.sources)
        and (short is None or 0 <= work.duration < short)
    )
