"""The same seed is the same history, whatever the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from forewarn import __version__
from forewarn.guest.agent import loop
from forewarn.plane import clock
from forewarn.sim.plan import ALL, SimulationPlan
from forewarn.sim.running import simulate
from forewarn.sim.telling.trace import Trace, read_trace

_PLAN = ("--seed", "11", "--vms", "20", "--days", "0.3", "--pace", "5", "--nodes", "2")


def run(*words: str, hash_seed: str = "0", status: int = 0) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "forewarn", "sim", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == status, done.stderr + done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_processes_with_different_hash_seeds_live_through_the_same_bytes(tmp_path: Path) -> None:
    told = [
        json.loads(run(*_PLAN, "--json", "--record", str(tmp_path / name), hash_seed=name)) for name in ("1", "4242")
    ]
    assert told[0]["digest"] == told[1]["digest"]
    assert told[0]["facts"] == told[1]["facts"] > 100
    assert (tmp_path / "1").read_bytes() == (tmp_path / "4242").read_bytes()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_record_is_replayed_and_its_first_difference_is_shown(tmp_path: Path) -> None:
    record = tmp_path / "week.jsonl"
    run(*_PLAN, "--record", str(record))
    assert "The same history" in run("replay", str(record))
    lines = record.read_text().splitlines()
    lines[70] = lines[70].replace('"t":', '"t":9')
    record.write_text("\n".join(lines))
    told = run("replay", str(record), status=1)
    assert "The first difference is in line 71" in told
    assert lines[70] in told


def test_another_seed_is_another_history() -> None:
    plans = [SimulationPlan(seed, vms=12, days=0.1, faults=ALL, pace=4.0) for seed in (1, 2)]
    assert len({simulate(plan, Trace(plan)).digest for plan in plans}) == 2


def test_one_process_can_simulate_again_and_leaves_production_as_it_was() -> None:
    before = {**vars(loop)}, {**vars(clock)}
    plan = SimulationPlan(3, vms=12, days=0.1, faults=ALL, pace=4.0)
    assert simulate(plan, Trace(plan)).digest == simulate(plan, Trace(plan)).digest
    assert before == ({**vars(loop)}, {**vars(clock)})


def test_a_record_of_another_version_is_the_same_history_where_the_same_happens(tmp_path: Path) -> None:
    plan, record = SimulationPlan(9, vms=12, days=0.02, faults=(), nodes=1), tmp_path / "r"
    with record.open("w") as file:
        told = simulate(plan, Trace(plan, file)).digest
    head, *lines = record.read_text().splitlines()
    record.write_text("\n".join([head.replace(__version__, "0.0.9"), *lines]))
    known, version, expected = read_trace(record)
    again = Trace(known, expected=expected)
    assert (simulate(known, again).digest, version) == (told, "0.0.9")
    assert again.first_difference is None
    shorter = Trace(known, expected=expected[:-1])
    simulate(known, shorter)
    assert shorter.first_difference == (len(expected), "(the record ends here)", lines[-1])


def test_what_is_no_record_is_refused_with_a_sentence(tmp_path: Path) -> None:
    spoiled = tmp_path / "no.jsonl"
    spoiled.write_text('{"what": "ever"}\n')
    for path in (spoiled, tmp_path / "absent"):
        done = subprocess.run(
            [sys.executable, "-m", "forewarn", "sim", "replay", str(path)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 1
        assert done.stderr.startswith("forewarn: ")
        assert done.stderr.count("\n") == 1


def test_a_record_tells_its_plan(tmp_path: Path) -> None:
    plan = SimulationPlan(9, vms=12, days=0.02, faults=(), nodes=1)
    with (tmp_path / "r").open("w") as file:
        simulate(plan, Trace(plan, file))
    assert read_trace(tmp_path / "r")[0] == plan
