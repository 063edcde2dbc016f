"""Hands, engines that fail, hosts that fall silent, one leader and two: lived through under seeds, and judged.

A bug that is planted on purpose is found by the seed that is recorded for it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from forewarn.core import commands as c
from forewarn.core.deciding.machines import adoption, hosts, reports, sightings
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import is_satisfied
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import (
    Errand,
    ErrandKind,
    ErrandOutcome,
    ErrandReport,
    Listing,
    MachinePower,
    OpenErrand,
    Sighting,
)
from forewarn.core.region import RealHost, replace
from forewarn.engines.twin.engine import TwinEngine
from forewarn.plane.hands.engine import Failed
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

    def satisfied(errand: Errand, seen: Sighting, seen_at: datetime, *, told: bool = False) -> bool:
        if errand.kind is ErrandKind.PAUSE:
            return seen.power is MachinePower.RUNNING
        return is_satisfied(errand, seen, seen_at, told=told)

    patch.setattr(reports, "is_satisfied", satisfied)
    patch.setattr(sightings, "is_satisfied", satisfied)


def _a_fence_that_fails_counts(patch: pytest.MonkeyPatch) -> None:
    """A host counts as off once its fence was tried."""
    of_host = reports._of_host

    def tried(draft: Draft, found: OpenErrand, told: ErrandReport) -> None:
        fences = found.errand.kind is ErrandKind.FENCE
        of_host(draft, found, replace(told, outcome=ErrandOutcome.DONE) if fences else told)

    patch.setattr(reports, "_of_host", tried)


def _silence_is_an_answer(patch: pytest.MonkeyPatch) -> None:
    """A host that does not answer counts as one that is off."""

    def fell_silent(draft: Draft, command: c.HostFellSilent) -> None:
        host = draft.region.real_host(command.name)
        if host is not None and host.is_healthy:
            draft.record(mf.HostSilent(draft.now, host.number))
            hosts.lose(draft, host.name, draft.now.isoformat())

    patch.setattr(hosts, "fell_silent", fell_silent)


def _a_lost_host_takes_part_at_once(patch: pytest.MonkeyPatch) -> None:
    """What runs at a host that is back is not looked at first."""

    def put_down(draft: Draft, host: RealHost, _: Listing) -> None:
        draft.record(mf.HostBack(draft.now, host.number))

    patch.setattr(sightings, "put_down", put_down)


def _what_is_half_made_stays(patch: pytest.MonkeyPatch) -> None:
    """A machine that could not be started is left as it was made."""
    patch.setattr(TwinEngine, "_undo", lambda engine, errand: Failed(engine._refused.pop(errand.id), lasting=True))


def _what_is_not_at_its_host_is_gone(patch: pytest.MonkeyPatch) -> None:
    """A machine that was moved by hand is not looked for before another is started."""
    patch.setattr(TwinEngine, "_elsewhere", lambda *_: None)


def _anything_is_let_go_at_any_time(patch: pytest.MonkeyPatch) -> None:
    """Also what is paused just then."""
    patch.setattr(adoption, "_may_be_dropped", lambda *_: True)


PLANTS: dict[
    Callable[[pytest.MonkeyPatch], None], tuple[int, str]
] = {  # each with the seed that finds it, and the rule that it breaks
    _pauses_end_early: (1, "early"),
    _a_fence_that_fails_counts: (2, "one copy"),
    _silence_is_an_answer: (1, "one copy"),
    _a_lost_host_takes_part_at_once: (2, "liveness"),
    _what_is_half_made_stays: (45, "left"),
    _what_is_not_at_its_host_is_gone: (1, "one copy"),
    _anything_is_let_go_at_any_time: (1, "let go"),
}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.lstrip("_"))
def test_a_planted_bug_is_found_by_its_seed(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    seed, rule = PLANTS[plant]
    outcome = simulate_hands(HandsPlan(seed, hours=2.0))
    assert [each.rule for each in outcome.violations[:1]] == [rule], told(outcome)
