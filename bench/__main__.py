"""``python -m bench [PART …]``: measure, and set the figures beside their targets."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from bench.figures import Figure, as_records, as_table
from bench.processes import CannotMeasure, Others, raise_open_files

_PARTS = {
    "reads": "a VM's GET, beside nginx and Go",
    "all_cores": "a VM's GET from as many readers as cores, beside nginx with as many workers (only when named)",
    "mix": "a GET as curl, Python, Node, PowerShell and others make it, beside nginx (only when named)",
    "causes": "where the CPU of a GET goes, by cause, for kinds of clients, by perf (only when named)",
    "callers": "20 000 distinct callers",
    "fairness": "another VM's read while one VM pipelines, floods or opens 20 000 connections",
    "sizes": "restart, approval and ticks among 1 000 and among 1 000 000 VMs",
    "million": "a node with 1 000 000 VMs: memory, start, snapshot, 10 000 documents that change at once",
    "lists": "lists, counts and searches among 1 000 and among 1 000 000 VMs",
    "pages": "the portal's pages and parts among 1 000 and 1 000 000 VMs, quiet and with 200 000 events (when named)",
    "watching": "hints, how soon a change is seen, and a VM's GET while 20 browsers watch a campaign (when named)",
    "browsing": "the portal in Chromium among 12 and 1 000 000 VMs: first key, requests, memory, looks (when named)",
    "relays": "1 000 relays on a node with 1 000 000 VMs: memory, idle CPU, from a restart to who waits (when named)",
    "bulk": "100 000 VMs: created, held, taken up again",
    "maintenance": "half an hour of host maintenance over 10 000 VMs",
    "waiting": "from a restart to the answer of those who wait",
    "postgres": "reads, writes and news of nodes that share PostgreSQL, beside SQLite and pgbench",
    "week": "a simulated week of 200 VMs",
    "before": "a VM's GET beside 0.1 and nginx in one run (only when named)",
    "instructions": "start, GET and restart beside 0.1, in counted instructions (only when named: some minutes)",
    "memory": "an idle agent and a process with a Client beside 0.1, anonymous memory (only when named)",
    "signals": "CPU of a VM's GET with metrics on beside off, in turns (only when named)",
    "campaign": "maintenance over 1 000 000 VMs, wave by wave (only when named: ten minutes)",
    "agent": "the agent in a VM: its size, its cost, its start, its haste",
}
_WHEN_NAMED = (
    "mix",
    "causes",
    "all_cores",
    "relays",
    "pages",
    "watching",
    "browsing",
    "before",
    "instructions",
    "memory",
    "signals",
    "campaign",
)


def main() -> int:
    args = _read_args()
    raise_open_files()
    print(machine(), file=sys.stderr)
    figures: list[Figure] = []
    disturbed: dict[str, float] = {}
    for name in args.parts or [name for name in _PARTS if name not in _WHEN_NAMED]:
        print(f"\n{name}: {_PARTS[name]}", file=sys.stderr)
        others = Others()
        more = {"minutes": args.minutes} if name == "browsing" and args.minutes else {}
        figures += _measure(name, importlib.import_module(f"bench.{name}"), args.rounds, **more)
        disturbed[name] = others.share()
    if args.json:
        told = {"machine": machine(), "taken_by_others": disturbed, "figures": as_records(figures)}
        print(json.dumps(told, indent=2))
    else:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in disturbed.items())
        print(f"\n{machine()}\n\n{as_table(figures)}\n\nCPU that others took meanwhile: {shares}")
    return 1 if any(figure.value is None for figure in figures) else 0


def _read_args() -> argparse.Namespace:
    parts = "\n".join(f"  {name:<13} {text}" for name, text in _PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure forewarn. Ends with status 1 where something could not be measured.",
        epilog=f"parts:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        choices=[[], *_PARTS],
        help="only these (default: all that need no naming)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs instead of a table")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="repeat, take the median (default: 5)")
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="for so long browsing watches a campaign (default: 2; its target: 10)",
    )
    return parser.parse_args()


def _measure(name: str, part: ModuleType, rounds: int, **more: float) -> list[Figure]:
    measure: Callable[..., list[Figure]] = part.measure
    try:
        return measure(rounds, lambda text: print(f"  {text}", file=sys.stderr), **more)
    except CannotMeasure as problem:
        print(f"  cannot measure: {problem}", file=sys.stderr)
        return [Figure(name, _PARTS[name], None, note=str(problem))]


def machine() -> str:
    """Where this was measured."""
    return (
        f"{os.cpu_count()} cores ({_processor()}), Linux {platform.release()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    sys.exit(main())
