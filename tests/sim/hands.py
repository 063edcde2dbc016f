"""Hands under seeds, for as long as is wanted: ``make torture`` runs it beside what fails for real.

python -m tests.sim.hands --minutes 20 --seed 1      on one node and on three, in turns, from that seed on

A seed that breaks a rule is told with its story, and the status is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import count

from forewarn.sim.hands.plan import HandsPlan
from forewarn.sim.hands.running import simulate_hands

_NODES = (1, 3)


def main() -> int:
    parser = argparse.ArgumentParser(description="Live through trouble with real machines, in memory, under seeds.")
    parser.add_argument("--minutes", type=float, default=20.0, help="no seed begins after so many (20)")
    parser.add_argument("--seed", type=int, default=1, help="the first one (1)")
    args = parser.parse_args()
    ends, lived, bad = time.monotonic() + 60 * args.minutes, Counter[str](), 0
    for seed in count(args.seed):
        if time.monotonic() > ends:
            break
        for nodes in _NODES:
            outcome = simulate_hands(HandsPlan(seed, nodes=nodes))
            lived.update(outcome.counts)
            lived["lives"] += 1
            bad += bool(outcome.violations)
            for each in outcome.violations:
                print(f"seed {seed} on {nodes} nodes, {each.rule}: {each.sentence}", *each.story, sep="\n    ")
    print(f"{bad} bad of {lived.pop('lives')} lives:", ", ".join(f"{name} {number}" for name, number in lived.items()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
