"""``python -m tests.loss --minutes 20 --seed 1``: rounds until the time is over, each with a seed of its own.

What a failed round leaves (journal, every client's record, logs) is kept, and the command that does it again is told.
A seed decides what is done to the region and what its clients want; in which order the machine lets it happen it does
not decide, so a rare failure may want several tries.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tests.loss.durables import DURABLES
from tests.loss.report import line, summary
from tests.loss.rounds import Plan, Verdict, run_round
from tests.loss.sabotage import SABOTAGES
from tests.loss.trying import tried

_TRIES_MOST = 5
_CUTS, _STARTED = 300, 6  # of power, in a round that is recorded; on so many of them the server is started
_IMAGES = 10  # of the power lost, for each call that fails


def plan_of(seed: int, seconds: float) -> Plan:
    """All that a round does follows from its seed."""
    chance = random.Random(seed)
    kind = chance.choice(("shared", "shared", "recorded", "behind its back"))
    shared = kind == "shared"
    return Plan(
        seed=seed,
        shared=shared,
        seconds=seconds,
        disable_seconds=chance.choice((0, 12)) if shared else 0,
        longest_fault_seconds=chance.choice((2.0, 5.0, 15.0)),
        at_once=chance.random() < 0.5,
        behind_its_back=kind == "behind its back",
        cuts=_CUTS if kind == "recorded" else 0,
        started=_STARTED,
    )


def main() -> int:
    args = _arguments()
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell told us to ignore it
        signal.signal(number, signal.default_int_handler)
    if args.prove is not None:
        return _prove(args.seed, args.prove)
    kept = Path(args.keep or tempfile.mkdtemp(prefix="forewarn-torture-"))
    verdicts: list[Verdict] = []
    spoiled = 0
    try:
        if args.round is None:
            spoiled = _try_durables(kept)
        for seed in _seeds(args, verdicts):
            plan = plan_of(seed, args.seconds)
            directory = kept / f"round-{seed}"
            verdict = _round(plan, directory)
            verdicts.append(verdict)
            kind = "PostgreSQL" if plan.shared else "SQLite"
            print(line(len(verdicts), seed, kind, verdict), flush=True)
            if verdict.losses:
                _tell(verdict, directory, seed, args.seconds)
            else:
                shutil.rmtree(directory)
    except KeyboardInterrupt:
        print("called off", flush=True)
    if verdicts:
        print(summary(verdicts))
    return 1 if spoiled or any(verdict.losses for verdict in verdicts) or not verdicts else 0


def _seeds(args: argparse.Namespace, verdicts: list[Verdict]) -> Iterator[int]:
    """One for each round: until the time is over, and then only those with power cuts, until there were enough."""
    if args.round is not None:
        yield args.round
        return
    over = time.monotonic() + args.minutes * 60
    for seed in count(args.seed * 1_000_000):
        if verdicts and time.monotonic() >= over:
            cuts = sum(verdict.figures["power cuts"] for verdict in verdicts)
            if cuts >= args.cuts or any(verdict.losses for verdict in verdicts):
                return
            if not plan_of(seed, args.seconds).cuts:
                continue
        yield seed


def _try_durables(kept: Path) -> int:
    """Every call of every durable file fails in turn; how much was wrong."""
    found = 0
    for name in DURABLES:
        wrong, told = tried(name, kept / f"durable-{name}", _IMAGES)
        print(f"{name}: {told['cases']} failing calls, {told['cuts']} power cuts, {len(wrong)} losses", flush=True)
        for what in wrong[:20]:
            print(f"  {what}"[:2000])
        found += len(wrong)
    return found


def _round(plan: Plan, directory: Path) -> Verdict:
    shutil.rmtree(directory, ignore_errors=True)  # of an earlier try
    try:
        return run_round(plan, directory)
    except Exception:
        return Verdict([f"the round broke off: {traceback.format_exc()}"], Counter(), 0.0)


def _prove(seed: int, begins: str) -> int:
    """Each way to break the program, under the faults that bring it to light; some need more than one try."""
    unseen = []
    for name, sabotage in SABOTAGES.items():
        if not name.startswith(begins):
            continue
        for attempt in range(_TRIES_MOST):
            plan = Plan(
                seed + attempt,
                sabotage.shared,
                sabotage.faults,
                longest_fault_seconds=6.0,
                sabotage=name,
                cuts=sabotage.cuts,
            )
            with tempfile.TemporaryDirectory(prefix="forewarn-prove-") as directory:
                found = run_round(plan, Path(directory)).losses
            if found:
                print(
                    f"{sabotage.told}: found, {len(found)} losses in try {attempt + 1}\n  {found[0]}"[:400], flush=True
                )
                break
        else:
            unseen.append(name)
            print(f"{sabotage.told}: NOT FOUND in {_TRIES_MOST} tries", flush=True)
    return 1 if unseen else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.loss", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="begin no new round after so long (20)")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long faults go on in each round (40)")
    parser.add_argument("--seed", type=int, default=1, help="of the whole run (1)")
    parser.add_argument("--cuts", type=int, default=1000, help="of power: go on until there were so many (1000)")
    parser.add_argument("--round", type=int, help="only the round with this seed")
    parser.add_argument(
        "--prove",
        nargs="?",
        const="",
        metavar="NAME",
        help="break the program on purpose, in all ways or in those whose name begins so; the judge must see it",
    )
    parser.add_argument("--keep", help="where failed rounds are kept (a new directory)")
    return parser.parse_args()


def _tell(verdict: Verdict, directory: Path, seed: int, seconds: float) -> None:
    for loss in verdict.losses[:20]:
        print(f"  {loss}"[:2000])
    more = len(verdict.losses) - 20
    print(f"  {f'and {more} more; ' if more > 0 else ''}everything is in {directory}")
    print(f"  again: python -m tests.loss --round {seed} --seconds {seconds:g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
