"""Simulated days, as ``forewarn sim`` runs them. A failure tells the command that shows it again."""

from __future__ import annotations

import pytest

from forewarn.sim.plan import ALL, SimulationPlan
from forewarn.sim.running import SimulationOutcome, simulate
from forewarn.sim.telling.summary import story
from forewarn.sim.telling.trace import Trace
from tests.sim.seeds import FOUND, SMALL


def lived(plan: SimulationPlan) -> SimulationOutcome:
    outcome = simulate(plan, Trace(plan))
    told = "\n".join(line for violation in outcome.violations for line in story(outcome, violation))
    assert not outcome.violations, told
    assert not outcome.interrupted
    return outcome


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("plan", SMALL, ids=SimulationPlan.words)
def test_a_small_fleet_with_every_kind_of_fault_breaks_no_promise_and_comes_to_rest(plan: SimulationPlan) -> None:
    counts = lived(plan).counts
    assert counts["EventCompleted"] > 10, "too little has happened to prove anything"
    assert counts["fault crash"] > 3
    assert counts["documents seen"] > 100
    assert counts["documents in old versions"] > 50
    assert counts["forbidden things tried"] > 10
    assert counts["silences"] > 0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("plan", FOUND, ids=SimulationPlan.words)
def test_seeds_that_once_found_a_bug_break_nothing(plan: SimulationPlan) -> None:
    lived(plan)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_week_of_200_vms_breaks_no_promise_and_comes_to_rest() -> None:
    outcome = lived(SimulationPlan(2, vms=200, days=7.0, faults=ALL))
    assert outcome.virtual_seconds > 7 * 86_400
    assert outcome.counts["hit prepared"] > 300, "too little has happened to prove anything"
    assert outcome.counts["shared approvals by agents"] > 20
    assert outcome.counts["EventCanceled"] > 10
    assert outcome.counts["ScopeDisabled"] > 5, "the 24 hours were never over"
    assert outcome.counts["EventAnnounced"] > 0, "nobody began to read with something ahead"


def test_without_faults_no_vm_that_had_the_time_is_hit_unprepared() -> None:
    counts = lived(SimulationPlan(5, vms=30, days=0.4, faults=(), pace=6.0)).counts
    assert counts["hit prepared"] > 20
    assert not any(name.startswith("fault") for name in counts)
