"""Hands, engines that fail, hosts that fall silent, one leader and two: lived through under seeds, and judged.

A bug that is planted on purpose is found by the seed that is recorded for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import pytest

from forewarn.core.deciding.machines import reports, sightings
from forewarn.core.looking.errands import is_satisfied
from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, Sighting
from forewarn.plane.hands.carrying import Carrying, HandsWarrant
from forewarn.plane.hands.engine import Done, ErrandResult
from forewarn.plane.hands.sites import Site
from forewarn.sim.hands.plan import HandsOutcome, HandsPlan
from forewarn.sim.hands.running import simulate_hands

PLANS = [HandsPlan(seed, nodes=nodes, hours=1.0) for nodes, seeds in ((1, range(1, 7)), (3, range(1, 5))) for seed in seeds]


def told(outcome: HandsOutcome) -> str:
    return "\n".join(line for each in outcome.violations for line in (f"{each.rule}: {each.sentence}", *each.story))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"seed {plan.seed} on {plan.nodes} nodes")
def test_nothing_runs_twice_nothing_is_done_twice_and_all_comes_to_rest(plan: HandsPlan) -> None:
    outcome = simulate_hands(plan)
    assert not outcome.violations, told(outcome)
    assert outcome.counts["events completed"] > 5, "too little has happened to prove anything"


def _pauses_again(patch: pytest.MonkeyPatch) -> None:
    """A pause that was tried before is begun again."""
    patch.setattr(HandsWarrant, "again", property(lambda self: False, lambda self, value: None), raising=False)


def _pauses_end_early(patch: pytest.MonkeyPatch) -> None:
    """A machine that runs counts as one whose pause is over."""

    def satisfied(errand: Errand, seen: Sighting, seen_at: datetime) -> bool:
        if errand.kind is ErrandKind.PAUSE:
            return seen.power is MachinePower.RUNNING
        return is_satisfied(errand, seen, seen_at)

    patch.setattr(reports, "is_satisfied", satisfied)
    patch.setattr(sightings, "is_satisfied", satisfied)


def _silence_counts_as_fenced(patch: pytest.MonkeyPatch) -> None:
    """A host is called lost without having been turned off."""

    async def fence(self: Carrying, site: Site, errand: Errand) -> ErrandResult:
        return Done(Sighting("", errand.host, MachinePower.OFF))

    patch.setattr(Carrying, "_fence", fence)


def _one_errand_only(patch: pytest.MonkeyPatch) -> None:
    """What did not work the first time is forgotten until the process ends."""
    carried = Carrying._hold

    async def hold(self: Carrying, site: Site, errand_id: str) -> None:
        if errand_id not in self._mine:
            await carried(self, site, errand_id)

    patch.setattr(Carrying, "_due", lambda self, site, errand_id: None)
    patch.setattr(Carrying, "_hold", hold)


@dataclass(frozen=True)
class HandsPlant:
    plant: Callable[[pytest.MonkeyPatch], None]
    seed: int
    rule: str


PLANTED = [
    HandsPlant(_pauses_again, 1, "once"),
    HandsPlant(_pauses_end_early, 1, "early"),
    HandsPlant(_silence_counts_as_fenced, 1, "one copy"),
]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.plant.__name__.strip("_"))
def test_a_planted_bug_is_found(planted: HandsPlant, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.plant(monkeypatch)
    outcome = simulate_hands(HandsPlan(planted.seed))
    assert [each.rule for each in outcome.violations[:1]] == [planted.rule], told(outcome)
