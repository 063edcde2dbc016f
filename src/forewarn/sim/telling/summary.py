"""What a simulation tells in the end: a page for people, the same as JSON for programs, and a violation's story."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from forewarn.sim.plan import Violation
from forewarn.sim.running import DAY, SimulationOutcome
from forewarn.testing.picture.history import Life

_TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")


def as_json(outcome: SimulationOutcome) -> dict[str, Any]:
    """Everything that the page tells, and the counts behind it."""
    plan, lives = outcome.plan, [*outcome.history.lives.values()]
    return {
        "seed": plan.seed,
        "vms": plan.vms,
        "days": plan.days,
        "faults": [str(fault) for fault in plan.faults],
        "nodes": plan.nodes,
        "relays": plan.relays,
        "pace": plan.pace,
        "replay": replay_words(outcome),
        "events": {kind: sum(life.type == kind for life in lives) for kind in _TYPES},
        "ended": dict(Counter(life.how or "open" for life in lives)),
        "started": dict(Counter(how_started(life) for life in lives if life.started_at is not None)),
        "median_warning_used": warning_used(lives),
        "faults_injected": _faults(outcome),
        "counts": dict(sorted(outcome.counts.items())),
        "facts": outcome.facts,
        "digest": outcome.digest,
        "virtual_seconds": round(outcome.virtual_seconds, 3),
        "wall_seconds": round(outcome.wall_seconds, 3),
        "cpu_seconds": round(outcome.cpu_seconds, 3),
        "interrupted": outcome.interrupted,
        "violations": [_violation_fields(each) for each in outcome.violations],
    }


def page(outcome: SimulationOutcome) -> list[str]:
    """A page that a person likes to read."""
    plan, counts, lives = outcome.plan, Counter(outcome.counts), [*outcome.history.lives.values()]
    days = outcome.virtual_seconds / DAY
    nodes = "one node" if plan.nodes == 1 else f"{plan.nodes} nodes"
    nodes += f" and {plan.relays} {'relay' if plan.relays == 1 else 'relays'}" if plan.relays else ""
    lines = [
        f"{days:.1f} days of {plan.vms} VMs on {nodes}, seed {plan.seed}",
        "",
        _row("events", f"{len(lives)}: " + ", ".join(f"{n} {kind}" for kind, n in _by_type(lives))),
        _row("ended", _counted(Counter(life.how or "still open" for life in lives))),
        _row("started", _counted(Counter(how_started(life) for life in lives if life.started_at is not None))),
        _row("warning used", _used(lives)),
        _row("agents", _agents(counts)),
        _row("people", _people(counts)),
        _row("faults", _counted(Counter(_faults(outcome))) or "none were asked for"),
        _row("checked", _checked(counts)),
        _row("time", _time(outcome, days)),
        _row("history", f"{outcome.facts} facts, digest {outcome.digest[:16]}"),
        "",
    ]
    if outcome.interrupted:
        lines.append("Interrupted: this is what was seen until then, and nothing was wrong with it.")
    elif not outcome.violations:
        lines.append("No violation. After the faults had healed, every event ended and every agent was idle.")
    return lines


def story(outcome: SimulationOutcome, violation: Violation) -> list[str]:
    """What is wrong, what is known about it, and how to see it again."""
    lines = [
        f"Violation ({violation.rule}) in seed {outcome.plan.seed}, after record {violation.step}, at {violation.at}:",
        f"  {violation.sentence}",
    ]
    if violation.story:
        lines += ["", "  The last that the journal says about it:"]
        lines += [f"    {fact}" for fact in violation.story]
    return [*lines, "", "  To see it again:", f"    {replay_words(outcome)}"]


def replay_words(outcome: SimulationOutcome) -> str:
    return f"forewarn sim {outcome.plan.words()}"


def how_started(life: Life) -> str:
    """Who let an event start."""
    if life.born_started:
        return "at once"
    if life.early:
        return "approved"
    return "at NotBefore"


def warning_used(lives: list[Life]) -> float | None:
    """The median share of the notice that passed before an announced event started."""
    shares = [
        (life.started_at - life.scheduled_at) / (life.not_before - life.scheduled_at)
        for life in lives
        if life.started_at is not None and life.announced and life.not_before > life.scheduled_at
    ]
    return round(median(shares), 4) if shares else None


def _row(title: str, text: str) -> str:
    return f"  {title:<14}{text}"


def _by_type(lives: list[Life]) -> list[tuple[str, int]]:
    found = Counter(life.type for life in lives)
    return [(kind, found[kind]) for kind in _TYPES if found[kind]]


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{many} {what}" for what, many in counter.most_common())


def _faults(outcome: SimulationOutcome) -> dict[str, int]:
    return {
        name.removeprefix("fault "): many for name, many in sorted(outcome.counts.items()) if name.startswith("fault ")
    }


def _used(lives: list[Life]) -> str:
    used = warning_used(lives)
    return "nothing was announced" if used is None else f"{100 * used:.0f} % of the notice, in the median"


def _agents(counts: Counter[str]) -> str:
    return (
        f"{counts['approvals by agents']} approvals, {counts['shared approvals by agents']} of them for several VMs; "
        f"hit {counts['hit prepared']} times prepared, {counts['hit unprepared, for want of time']} times without time"
    )


def _people(counts: Counter[str]) -> str:
    return ", ".join(
        f"{counts[f'deeds {word}']} requests {word}"
        for word in ("done", "refused", "failed", "unanswered")
        if counts[f"deeds {word}"]
    )


def _checked(counts: Counter[str]) -> str:
    return (
        f"invariants {counts['invariants checked']} times ({counts['whole regions checked']} times all of them), "
        f"{counts['answers']} answers, {counts['documents seen']} documents"
    )


def _time(outcome: SimulationOutcome, days: float) -> str:
    each = 1000 * outcome.cpu_seconds / max(days * outcome.plan.vms, 1e-9)
    return f"{outcome.wall_seconds:.1f} s, {outcome.cpu_seconds:.1f} s of CPU: {each:.1f} ms for a VM's day"


def _violation_fields(violation: Violation) -> dict[str, Any]:
    return {
        "rule": violation.rule,
        "sentence": violation.sentence,
        "after_record": violation.step,
        "at": violation.at,
        "story": list(violation.story),
    }
