"""Hands, engines that fail, hosts that fall silent, one leader and two: lived through under seeds, and judged.

A bug that is planted on purpose is found by the seed that is recorded for it.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from forewarn.core.deciding.machines import reports, sightings
from forewarn.core.looking.errands import is_satisfied
from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, Sighting
from forewarn.sim.hands.plan import HandsOutcome, HandsPlan
from forewarn.sim.hands.running import simulate_hands

SEEDS = {1: range(1, 7), 3: range(1, 5)}  # by how many nodes there are
PLANS = [HandsPlan(seed, nodes=nodes, hours=1.0) for nodes, seeds in SEEDS.items() for seed in seeds]


def told(outcome: HandsOutcome) -> str:
    return "\n".join(line for each in outcome.violations for line in (f"{each.rule}: {each.sentence}", *each.story))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"seed {plan.seed} on {plan.nodes} nodes")
def test_nothing_runs_twice_nothing_is_done_twice_and_all_comes_to_rest(plan: HandsPlan) -> None:
    outcome = simulate_hands(plan)
    assert not outcome.violations, told(outcome)
    assert outcome.counts["events completed"] > 5, "too little has happened to prove anything"


def _pauses_end_early(patch: pytest.MonkeyPatch) -> None:
    """A machine that runs counts as one whose pause is over."""

    def satisfied(errand: Errand, seen: Sighting, seen_at: datetime) -> bool:
        if errand.kind is ErrandKind.PAUSE:
            return seen.power is MachinePower.RUNNING
        return is_satisfied(errand, seen, seen_at)

    patch.setattr(reports, "is_satisfied", satisfied)
    patch.setattr(sightings, "is_satisfied", satisfied)


def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """So far the one of its kind: plants that need a node to die inside a pause, or a fence that lies, are lived too
    rarely to be found."""
    _pauses_end_early(monkeypatch)
    outcome = simulate_hands(HandsPlan(1))
    assert [each.rule for each in outcome.violations[:1]] == ["early"], told(outcome)
