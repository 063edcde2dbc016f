"""``forewarn engine check``: whether somebody's engine keeps the rules of the protocol. It asks no server."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forewarn.cli import parsing
from forewarn.cli.output import Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import CommandFailed, Exit, usage
from forewarn.settings.extras import import_part

_TOKEN = "FOREWARN_ENGINE_TOKEN"  # noqa: S105 - the variable's name
_DO = ("pause", "restart", "stop", "migrate")
_DESCRIPTION = """\
Ask an engine that you have written (docs/engine-protocol.md) what forewarn would ask it, and say which of
the protocol's rules hold. It talks to the engine alone: from this machine, without a server.

No machine is touched unless you name one with --machine; the command says first what it will do to it.
The exit status is 0 if no rule is broken, and 1 otherwise."""


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "engine", "try a program that runs machines", "Programs that run machines for forewarn."
    )
    check = parsing.add_command(
        group,
        "check",
        _check,
        "which rules of the protocol an engine keeps",
        _DESCRIPTION,
        "forewarn engine check unix:///run/my-engine.sock",
        "forewarn engine check https://engine.example:8443 --token-file token --ca ca.pem",
        "forewarn engine check --machine alpha/web-0 --program ./my-engine --verbose",
    )
    check.add_argument("address", nargs="?", default="", metavar="URL", help="unix:///path or https://host:port")
    check.add_argument("--token-file", type=Path, metavar="FILE", help=f"the token for https (default: {_TOKEN})")
    check.add_argument("--ca", type=Path, metavar="FILE", help="certificates of the authority that signed the engine's")
    check.add_argument("--machine", type=_machine, metavar="HOST/REF", help="a running machine that may be touched")
    check.add_argument(
        "--do",
        type=_kinds,
        default=_DO[:3],
        metavar="KINDS",
        help="what may be done to it: pause,restart,stop (default), and migrate",
    )
    check.add_argument("--patience", type=_seconds, default=120.0, metavar="N", help="seconds for one errand (120)")
    check.add_argument("--dry-run", action="store_true", help="only say what would be done")
    check.add_argument(
        "--program",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="WORD",
        help="start this program and speak lines; must come last",
    )
    parsing.add_json(check)


def _machine(text: str) -> tuple[str, str]:
    host, _, ref = text.partition("/")
    if not host or not ref:
        raise argparse.ArgumentTypeError(f"{text!r} is not a host and a machine, such as alpha/web-0")
    return host, ref


def _kinds(text: str) -> tuple[str, ...]:
    given = text.split(",")
    unknown = [each for each in given if each not in _DO]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not tried; there are {', '.join(_DO)}")
    return tuple(given)


def _seconds(text: str) -> float:
    if not text.isdecimal() or not 0 < int(text) <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to 86400")
    return float(text)


def _check(args: argparse.Namespace, out: Output) -> int:
    if bool(args.address) == bool(args.program):
        raise usage("name an engine's URL, or a program after --program: one of the two.")
    ground = import_part("forewarn.engines.remote.checking.ground", "forewarn engine check")
    doing = import_part("forewarn.engines.remote.checking.doing", "forewarn engine check")
    running = import_part("forewarn.engines.remote.checking.running", "forewarn engine check")
    machine = ground.MachineToTry(*args.machine, tuple(args.do)) if args.machine else None
    if not out.as_json:
        _say_first(out, machine, doing)
    if args.dry_run:
        if out.as_json:
            out.json({"machine": "/".join(args.machine or ()), "will": doing.plan(machine) if machine else []})
        return Exit.OK
    with _wires(args) as (wire, stranger):
        stood = ground.CheckGround(wire, machine, stranger, patience=args.patience)
        found = running.check_engine(stood, lambda rule: None if out.as_json else _tell(out, rule))
    if args.program and wire.ended_by_itself is not None:
        found.append(running.ending(by_itself=wire.ended_by_itself))
        if not out.as_json:
            _tell(out, found[-1])
    return _sum_up(out, found)


def _say_first(out: Output, machine: Any, doing: Any) -> None:
    if machine is None:
        out.line("No machine is touched: none was named with --machine.")
        return
    out.line(f"To {machine.ref} at {machine.host} this will be done, where the engine can:")
    for words in doing.plan(machine):
        out.line(f"  {words}")


def _tell(out: Output, rule: Any) -> None:
    colour = {"holds": "green", "broken": "red"}.get(rule.verdict, "dim")
    out.line(f"{out.paint(f'{rule.verdict:<9}', colour)}  {rule.rule}.")
    if rule.why:
        out.prose(rule.why, indent=" " * 11)


def _sum_up(out: Output, found: list[Any]) -> int:
    counts = {verdict: sum(rule.verdict == verdict for rule in found) for verdict in ("holds", "broken", "not tried")}
    if out.as_json:
        rules = [{"rule": rule.rule, "verdict": str(rule.verdict), "why": rule.why} for rule in found]
        out.json({"rules": rules, **{name.replace(" ", "_"): number for name, number in counts.items()}})
    else:
        out.line(f"{counts['holds']} hold, {counts['broken']} broken, {counts['not tried']} not tried.")
    return Exit.FAILED if counts["broken"] else Exit.OK


@contextmanager
def _wires(args: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    """To the engine, and once more as a stranger would ask."""
    http = import_part("forewarn.engines.remote.http_wire", "forewarn engine check")
    program = import_part("forewarn.engines.remote.program_wire", "forewarn engine check")
    fault = import_part("forewarn.plane.hands.engine", "forewarn engine check").EngineFault
    stranger = None
    try:
        if args.program:
            wire = program.ProgramWire(args.program, _shout)
        else:
            wire = http.HttpWire(args.address, token=_token(args, http), ca=args.ca)
            if args.address.startswith("https:"):
                stranger = http.HttpWire(args.address, token=lambda: "not-the-token", ca=args.ca)
    except fault as problem:
        raise CommandFailed(str(problem), Exit.USAGE) from None
    try:
        yield wire, stranger
    finally:
        wire.close()


def _token(args: argparse.Namespace, http: Any) -> Any:
    if args.token_file is not None:
        return http.token_of(args.token_file)
    given = os.environ.get(_TOKEN, "")
    return (lambda: http.checked_token(given, _TOKEN)) if given else None


def _shout(line: str) -> None:
    """What the program itself writes to stderr, for the person who writes it."""
    print(f"  {line}", file=sys.stderr)
