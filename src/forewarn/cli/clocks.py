"""``forewarn clock``: the region's time, and turning it."""

from __future__ import annotations

import argparse

from forewarn.cli import parsing
from forewarn.cli.errors import Exit
from forewarn.cli.output import Output
from forewarn.cli.parsing import Subparsers
from forewarn.cli.shapes import Clock
from forewarn.cli.times import parse_instant, show_distance, show_instant, show_moment


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "clock", "the region's clock", "Read the region's clock and, unless it is the real one, turn it."
    )
    parsing.add_client_command(
        group,
        "show",
        _show,
        "show the time",
        "Show the region's time and when something is due next.",
        "forewarn clock show",
    )
    advance = parsing.add_client_command(
        group,
        "advance",
        _advance,
        "move forward by a duration",
        "Move the clock forward. Everything that falls due on the way happens at its own instant.",
        "forewarn clock advance 15m",
    )
    advance.add_argument("duration", type=parsing.duration, metavar="DURATION", help="15m, 90s, 2h, 7d or PT15M")
    parsing.add_client_command(
        group,
        "next",
        _next,
        "move to the next change",
        "Move the clock to the next change: the next instant at which something happens.",
        "forewarn clock next",
    )
    to = parsing.add_client_command(
        group,
        "to",
        _to,
        "move to an instant",
        "Move the clock forward to an instant.",
        "forewarn clock to 2030-01-31T12:00:00Z",
    )
    to.add_argument("instant", type=parsing.instant, metavar="INSTANT", help="ISO 8601; UTC where no offset is given")
    speed = parsing.add_client_command(
        group,
        "speed",
        _speed,
        "choose how fast time passes",
        "Let time pass N times as fast; 0 makes it stand still.",
        "forewarn clock speed x60",
        "forewarn clock speed 0",
    )
    speed.add_argument("speed", type=parsing.speed, metavar="N", help="x60 or 60 makes a minute of a second")


def _show(args: argparse.Namespace, out: Output) -> int:
    return _say(out, parsing.client_of(args).clock())


def _advance(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    client.turn_clock("advance", {"seconds": args.duration.total_seconds()})
    return _say(out, client.clock())


def _next(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    before = client.clock()
    client.turn_clock("next", {})
    after = client.clock()
    if after["now"] == before["now"] and before["next_deadline"] is None:
        out.note("Nothing is due; the clock stays where it is.")
    return _say(out, after)


def _to(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    client.turn_clock("to", {"instant": show_instant(args.instant)})
    return _say(out, client.clock())


def _speed(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    client.turn_clock("speed", {"speed": args.speed})
    return _say(out, client.clock())


def describe(clock: Clock) -> str:
    """A clock's manner in a few words."""
    if clock["speed"] == 0:
        return f"{clock['kind']}, stands still"
    return clock["kind"] if clock["kind"] == "real" else f"{clock['kind']}, x{clock['speed']:g}"


def _say(out: Output, clock: Clock) -> int:
    if out.as_json:
        out.json(clock)
        return Exit.OK
    out.prose(f"{show_moment(clock['now'])} ({describe(clock)}); {_due(clock)}.")
    return Exit.OK


def _due(clock: Clock) -> str:
    """What comes next. On a fast clock its instant may have passed while it is being done."""
    if clock["next_deadline"] is None:
        return "nothing is due"
    due, now = parse_instant(clock["next_deadline"]), parse_instant(clock["now"])
    if due <= now:
        return "something is due now"
    return f"next change {show_moment(clock['next_deadline'])}, {show_distance(due, now)}"
