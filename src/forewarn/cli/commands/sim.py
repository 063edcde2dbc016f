"""``forewarn sim``: a region lived through in one thread, and a recorded one lived through again.

What it runs needs the packages of the server and sim extras, and is imported only when it is wanted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from forewarn.cli import parsing
from forewarn.cli.output import Output, complain
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import CommandFailed, Exit, usage
from forewarn.settings.extras import import_part
from forewarn.sim.plan import (
    ALL,
    LEAST_VMS,
    MEANINGS,
    MOST_DAYS,
    MOST_NODES,
    MOST_RELAYS,
    MOST_VMS,
    Misfortune,
    SimulationPlan,
)

_KINDS = "\n".join(f"  {kind:<10} {MEANINGS[kind]}" for kind in Misfortune)
_DESCRIPTION = f"""\
Live through days of a region in seconds: the server's own code and the agent's own code, in one thread,
on a clock that jumps, with a simulated network, people and faults. Everything that must hold is checked on
the way. Then the faults end, and every event must end and every agent come to rest. The same seed is the
same history, to the byte.

A violation is told with the one command that shows it again, and the exit status is 1.

faults:
{_KINDS}"""


def add_to(subparsers: Subparsers) -> None:
    sim = parsing.add_command(
        subparsers,
        "sim",
        _simulate,
        "try to break it: a simulated week with faults",
        _DESCRIPTION,
        "forewarn sim --seed 7",
        "forewarn sim --seed 7 --vms 30 --days 1 --faults crash,partition --nodes 3",
        "forewarn sim --seed 7 --timeline week.html --record week.jsonl",
        "forewarn sim replay week.jsonl",
    )
    sim.add_argument("--seed", type=parsing.cursor, default=1, metavar="N", help="which history (default: 1)")
    sim.add_argument("--vms", type=parsing.count, default=200, metavar="N", help="how many VMs (default: 200)")
    sim.add_argument("--days", type=_days, default=7.0, metavar="N", help="how long, before it heals (default: 7)")
    sim.add_argument("--faults", type=_faults, default=ALL, metavar="KINDS", help="all, none, or kinds with commas")
    sim.add_argument("--nodes", type=parsing.count, default=1, metavar="N", help="servers on one store (default: 1)")
    sim.add_argument("--relays", type=parsing.cursor, default=0, metavar="N", help="for so many hosts (default: 0)")
    sim.add_argument("--pace", type=_pace, default=1.0, metavar="N", help="how much happens (default: 1, the usual)")
    sim.add_argument("--record", type=Path, metavar="FILE", help="write down what happens, for 'forewarn sim replay'")
    sim.add_argument("--timeline", type=Path, metavar="FILE", help="draw what happened to which VM: .html or .svg")
    parsing.add_json(sim)
    inner = sim.add_subparsers(title="commands", metavar="COMMAND", required=False, dest="sim_command")
    replay = parsing.add_command(
        inner,
        "replay",
        _replay,
        "live through a recorded history again",
        "Run what a record says was run, and say whether history is the same. Where it is not, the first difference is "
        "shown and the exit status is 1: the program has changed since, or there is chance in it that should not be.",
        "forewarn sim replay week.jsonl",
    )
    replay.add_argument("file", type=Path, metavar="FILE", help="what 'forewarn sim --record' wrote")
    parsing.add_json(replay)


def _number(text: str, least: float, most: float, what: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not least <= found <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return found


def _days(text: str) -> float:
    return _number(text, 0.01, MOST_DAYS, f"a number of days from 0.01 to {MOST_DAYS:g}")


def _pace(text: str) -> float:
    return _number(text, 0.01, 1000.0, "a pace from 0.01 to 1000")


def _faults(text: str) -> tuple[Misfortune, ...]:
    if text in ("all", "none"):
        return ALL if text == "all" else ()
    given = set(text.split(","))
    unknown = sorted(given - set(ALL))
    if unknown:
        known = ", ".join(ALL)
        raise argparse.ArgumentTypeError(f"there is no fault {unknown[0]!r}; there are {known}, and 'all' and 'none'")
    return tuple(kind for kind in ALL if kind in given)


def _plan_of(args: argparse.Namespace) -> SimulationPlan:
    if not LEAST_VMS <= args.vms <= MOST_VMS:
        raise usage(f"--vms must be {LEAST_VMS} to {MOST_VMS}.")
    if args.nodes > MOST_NODES:
        raise usage(f"--nodes must be 1 to {MOST_NODES}.")
    if args.relays > MOST_RELAYS:
        raise usage(f"--relays must be 0 to {MOST_RELAYS}.")
    return SimulationPlan(args.seed, args.vms, args.days, args.faults, args.nodes, args.pace, args.relays)


def _simulate(args: argparse.Namespace, out: Output) -> int:
    plan = _plan_of(args)
    if args.timeline is not None and args.timeline.suffix not in (".html", ".svg"):
        raise usage("--timeline draws FILE.html or FILE.svg.")
    running = import_part("forewarn.sim.running", "forewarn sim")
    trace = import_part("forewarn.sim.telling.trace", "forewarn sim")
    with _opened(args.record) as file, _progress(plan) as tell:
        outcome = running.simulate(plan, trace.Trace(plan, file), tell)
    if args.timeline is not None:
        _draw(args.timeline, outcome)
    return _tell(outcome, out)


def _replay(args: argparse.Namespace, out: Output) -> int:
    running = import_part("forewarn.sim.running", "forewarn sim")
    trace = import_part("forewarn.sim.telling.trace", "forewarn sim")
    try:
        plan, version, lines = trace.read_trace(args.file)
    except trace.BadTrace as problem:
        raise CommandFailed(str(problem)) from None
    again = trace.Trace(plan, expected=lines)
    with _progress(plan) as tell:
        outcome = running.simulate(plan, again, tell)
    if outcome.interrupted:
        return Exit.INTERRUPTED
    same = again.first_difference is None
    if out.as_json:
        out.json({"same": same, "recorded_by": version, "first_difference": again.first_difference})
        return Exit.OK if same else Exit.FAILED
    if same:
        out.line(f"The same history: {again.lines} lines, digest {outcome.digest[:16]}.")
        return Exit.OK
    number, before, now = again.first_difference
    out.line(f"Another history than forewarn {version} recorded. The first difference is in line {number}:")
    out.line(f"  recorded  {before}")
    out.line(f"  now       {now}")
    return Exit.FAILED


def _tell(outcome: Any, out: Output) -> int:
    summary = import_part("forewarn.sim.telling.summary", "forewarn sim")
    if out.as_json:
        out.json(summary.as_json(outcome))
    else:
        for line in summary.page(outcome):
            out.line(line)
        for violation in outcome.violations[:1]:
            for line in summary.story(outcome, violation):
                out.line(out.paint(line, "red") if line.startswith("Violation") else line)
    if outcome.violations:
        return Exit.FAILED
    return Exit.INTERRUPTED if outcome.interrupted else Exit.OK


def _draw(path: Path, outcome: Any) -> None:
    timeline = import_part("forewarn.sim.telling.timeline", "forewarn sim")
    text = timeline.html(outcome) if path.suffix == ".html" else timeline.svg(outcome)
    try:
        path.write_text(text, "utf-8")
    except OSError as problem:
        raise CommandFailed(f"{path} cannot be written: {problem.strerror}.") from None
    complain(f"The timeline is in {path}.")


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO | None]:
    """Before anything is simulated: a file that cannot be written is told at once."""
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as problem:
        raise CommandFailed(f"{path} cannot be written: {problem.strerror}.") from None
    with file:
        yield file


@contextmanager
def _progress(plan: SimulationPlan) -> Iterator[Any]:
    """A line that a person can watch; nothing in a script's log."""
    shown = sys.stderr.isatty()

    def tell(world: Any, phase: str) -> None:
        if shown:
            day, faults = world.elapsed / 86_400, len(world.history.mishaps)
            what = f"day {day:.1f} of {plan.days:g}" if phase == "living" else "healed, coming to rest"
            text = f"{what}: {len(world.history.lives)} events, {len(world.truth.events)} open, {faults} faults"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
