"""Two whole weeks at full size; ``python -m tests.sim.week --seed N`` runs any other."""

from __future__ import annotations

import pytest

from tests.sim.week import replayed


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_in_a_week_of_trouble_nobody_is_hit_unprepared_and_all_come_back(seed: int) -> None:
    counts = replayed(seed, vms=200, days=7).counts
    assert counts["hit prepared"] > 1_000, "too little has happened to prove anything"
    assert counts["shared approvals by guests"] > 50
    assert counts["EventCanceled"] > 20


def test_the_same_seed_gives_the_same_week() -> None:
    assert replayed(3, vms=30, days=0.5).counts == replayed(3, vms=30, days=0.5).counts
