"""Nothing is lost: a load on a region whose nodes, wires, clocks, disk and database fail, judged record by record.

This is the short form; ``make torture`` is the long one, and docs/loss.md says what both look for.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loss.report import summary
from tests.loss.rounds import Plan, run_round

THREE_NODES = Plan(
    seed=20260801,
    faults=(
        "node killed",
        "reader killed",
        "reader asleep",
        "database killed",
        "wire cut",
        "packets lost",
        "clock turned",
        "sessions ended",
        "node asleep",
        "disk full",
        "black hole",
        "database restarted",
        "all nodes killed",
        "relay killed",
        "relay cut off",
        "relay asleep",
    ),
    longest_fault_seconds=3.0,
)
ONE_NODE = Plan(
    seed=20260802,
    shared=False,
    faults=(
        "node killed",
        "reader killed",
        "disk full",
        "sync fails",
        "last sync fails",
        "write fails",
        "directory replaced",
        "journal deleted",
        "bits flipped",
        "relay misled",
    ),
    longest_fault_seconds=2.0,
)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("plan", [THREE_NODES, ONE_NODE], ids=["three nodes on PostgreSQL", "one node on SQLite"])
def test_nothing_is_lost_whatever_fails(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = run_round(plan, tmp_path)
    with capsys.disabled():
        print(f"\n{summary([verdict])}")
    assert verdict.losses == []
    assert verdict.figures["writes ok"] > 20, "the load did no work"
    assert verdict.figures["impacts"], "no event was ever felt"
    assert {kind for kind in plan.faults if not verdict.figures[f"fault {kind}"]} == set()
