"""Search the seeds that find the planted bugs, for instance when the random stream has moved.

python -m tests.sim.search                    all plants: show the table of seeds
python -m tests.sim.search start_early …      these only
python -m tests.sim.search --write            and write tests/sim/plants/found.py and the list in docs/simulator.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import pytest

from forewarn.sim.running import SimulationOutcome, simulate
from forewarn.sim.telling.trace import Trace
from tests.sim.plants import PLANTS
from tests.sim.plants.found import FOUND, Found

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests/sim/plants/found.py"
PAGE = ROOT / "docs/simulator.md"
BEGIN, END = "<!-- plants: begin -->\n", "<!-- plants: end -->\n"
_SEEDS_MOST = 10
_ENOUGH = 1  # seeds that find it; of several, the quickest is taken
_QUICK_SECONDS = 3.0  # of CPU; who finds it so soon need not be compared


@dataclass(frozen=True, slots=True)
class _Hit:
    found: Found
    cpu_seconds: float
    sentence: str


def lived(name: str, seed: int) -> SimulationOutcome:
    """A plant's plan with this seed, with the bug in place."""
    plant = PLANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        plant.broken(patch)
        plan = plant.plan(seed)
        return simulate(plan, Trace(plan))


def search(name: str, first: int = 1) -> _Hit | None:
    """The seed that finds it with the least work, of the first few that do."""
    hits: list[_Hit] = []
    for seed in range(first, first + _SEEDS_MOST):
        outcome = lived(name, seed)
        if outcome.violations:
            told = outcome.violations[0]
            hits.append(_Hit(Found(seed, told.rule), outcome.cpu_seconds, told.sentence))
            if outcome.cpu_seconds < _QUICK_SECONDS or len(hits) == _ENOUGH:
                break
    return min(hits, key=lambda hit: hit.cpu_seconds, default=None)


def table(found: dict[str, Found]) -> str:
    """The module that keeps the seeds."""
    rows = "".join(f'    "{name}": Found({each.seed}, "{each.rule}"),\n' for name, each in _in_order(found))
    head, _, _ = TABLE.read_text().partition("FOUND: ")
    return f"{head}FOUND: dict[str, Found] = {{\n{rows}}}\n"


def listed(found: dict[str, Found]) -> str:
    """The list of the page."""
    rows = [
        f"| {PLANTS[name].wrong} | `{PLANTS[name].place}` | {each.rule} | `{PLANTS[name].plan(each.seed).words()}` |\n"
        for name, each in _in_order(found)
    ]
    return "".join(["| what is wrong | where | found by | in |\n", "|---|---|---|---|\n", *rows])


def page(found: dict[str, Found]) -> str:
    """The whole page with that list."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}{listed(found)}{END}{rest.partition(END)[2]}"


def _in_order(found: dict[str, Found]) -> Iterable[tuple[str, Found]]:
    return ((name, found[name]) for name in PLANTS if name in found)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.search", description=__doc__.partition("\n")[0])
    parser.add_argument("plants", nargs="*", metavar="PLANT", help="all, if left out")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="SEED", help="the first seed to try")
    parser.add_argument("--write", action="store_true", help="write the table and the page")
    given = parser.parse_args(words)
    unknown = [name for name in given.plants if name not in PLANTS]
    if unknown:
        parser.error(f"there is no plant {unknown[0]}; there are {', '.join(PLANTS)}")
    names = given.plants or [*PLANTS]
    found, missing = dict(FOUND), 0
    with ProcessPoolExecutor() as pool:
        asked = {pool.submit(search, name, given.first): name for name in names}
        for done in as_completed(asked):
            name, hit = asked[done], done.result()
            if hit is None:
                missing += 1
                found.pop(name, None)
                print(f"{name}: not found in {_SEEDS_MOST} seeds", flush=True)
                continue
            found[name] = hit.found
            print(f"{name}: seed {hit.found.seed}, {hit.found.rule}, {hit.cpu_seconds:.1f} s", flush=True)
            print(f"    {hit.sentence[:150]}", flush=True)
    if given.write:
        TABLE.write_text(table(found))
        PAGE.write_text(page(found))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
