"""A checker that cannot fail proves nothing: rules are broken on purpose, and each time the simulator says so.

Each plant is lived through with the one seed that is recorded for it. Where the random stream has moved, most of these
fail at once: ``python -m tests.sim.search --write`` looks for new seeds.
"""

from __future__ import annotations

import pytest

from forewarn.sim.running import simulate
from forewarn.sim.telling.summary import page, story
from forewarn.sim.telling.trace import Trace
from tests.sim import search
from tests.sim.plants import PLANTS, SEAMS
from tests.sim.plants.found import FOUND

_CLEAN = ("reads_are_not_noted", "a_lag_hides_a_new_enabling", "skipping_reaches_the_neighbours")
_CLEAN_ON_TWO_NODES = ("followers_wake_nobody",)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PLANTS)
def test_each_planted_bug_is_found_by_its_seed_and_reported(name: str) -> None:
    seed, rule = FOUND[name]
    outcome = search.lived(name, seed)
    assert outcome.violations, f"seed {seed} does not find it any more; see tests/sim/search.py"
    found = outcome.violations[0]
    assert found.rule == rule, found
    told = story(outcome, found)
    assert f"forewarn sim --seed {seed} " in told[-1]
    assert found.sentence in told[1]
    assert "No violation" not in page(outcome)[-1]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [*_CLEAN, *_CLEAN_ON_TWO_NODES])
def test_with_the_same_seed_the_program_as_it_is_breaks_nothing(name: str) -> None:
    plan = PLANTS[name].plan(FOUND[name].seed)
    outcome = simulate(plan, Trace(plan))
    assert not outcome.violations, outcome.violations[0]
    assert outcome.counts["documents in old versions"] > 20, "too little has happened to prove anything"
    assert outcome.counts["forbidden things tried"] > 5


def test_enough_planted_bugs_need_two_features_to_meet() -> None:
    assert len(SEAMS) >= 20
    assert sum(plant.seam for plant in SEAMS) >= 8
    assert set(FOUND) == set(PLANTS)


def test_the_simulators_page_lists_the_planted_bugs_with_their_seeds() -> None:
    assert search.listed(FOUND) in search.PAGE.read_text(), "python -m tests.sim.search --write writes the list"
    assert search.table(FOUND) == search.TABLE.read_text()
