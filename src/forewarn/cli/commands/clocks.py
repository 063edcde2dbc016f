"""``forewarn clock`` and ``forewarn forecast``: the region's time, turning it, and what it will bring."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime, timedelta

from forewarn.cli import parsing, terse
from forewarn.cli.api.time_shapes import Clock, Forecast, ForecastFact, Happened, Turned
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit
from forewarn.settings.times import parse_instant, show_distance, show_instant, show_moment

_LINES = 10  # ours: of the first things that happened, and of the last ones; both fit a terminal of 24 lines
_NAMED = 2  # of what a line is about, so that it mostly fits 80 columns
_FORECAST = (
    Column("AT"),
    Column("IN", spare=True),
    Column("TYPE"),
    Column("ABOUT", flexible=True),
    Column("WHAT", flexible=True, prose=True),
)
_VMS_NAMED = 3  # of a fact's VMs, so that its line mostly fits 80 columns
_BELOW = " " * 22  # where the text of a line begins that goes on below


def add_to(subparsers: Subparsers) -> None:
    _add_forecast(subparsers)
    _add_clock(subparsers)


def _add_clock(subparsers: Subparsers) -> None:
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
        "Move the clock forward. Everything that falls due on the way happens at its own instant, and is listed.",
        "forewarn clock advance 15m",
    )
    advance.add_argument("duration", type=parsing.duration, metavar="DURATION", help="15m, 90s, 2h, 7d or PT15M")
    parsing.add_client_command(
        group,
        "next",
        _next,
        "move to the next change",
        "Move the clock to the next change, the next instant at which something happens, and list what that is. Where "
        "nothing else is ahead, that is the disabling of a scope in which nobody has read for 24 hours.",
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
    return _say_turned(out, parsing.client_of(args).turn_clock("advance", {"seconds": args.duration.total_seconds()}))


def _next(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    before = client.clock()
    turned = client.turn_clock("next", {})
    if turned["now"] == before["now"] and before["next_deadline"] is None:
        out.note("Nothing is due; the clock stays where it is.")
    return _say_turned(out, turned)


def _to(args: argparse.Namespace, out: Output) -> int:
    return _say_turned(out, parsing.client_of(args).turn_clock("to", {"instant": show_instant(args.instant)}))


def _speed(args: argparse.Namespace, out: Output) -> int:
    return _say(out, parsing.client_of(args).set_speed(args.speed))


def _say_turned(out: Output, turned: Turned) -> int:
    """What happened on the way, the first and the last lines of it, and then the time."""
    if not out.as_json:
        for line in _lines(turned):
            out.prose(line, hang=_BELOW)
    return _say(out, turned)


def _lines(turned: Turned) -> Iterator[str]:
    happened = turned["happened"]
    between = len(happened) - 2 * _LINES
    if between <= 0:
        yield from map(_happened, happened)
        return
    yield from map(_happened, happened[:_LINES])
    yield f"… {between + turned['happened_left_out']} more; 'forewarn activity' lists what happened."
    yield from map(_happened, happened[-_LINES:])


def _happened(line: Happened) -> str:
    """When, to whom, what."""
    named = ", ".join(subject.removeprefix("vm/") for subject in line["about"][:_NAMED])
    more = line["about_total"] - len(line["about"][:_NAMED])
    whom = f"{named} and {more} more" if more > 0 else named
    return f"{show_moment(line['at'])}  {whom}{': ' if whom else ''}{line['text']}"


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


# What time will bring


def _add_forecast(subparsers: Subparsers) -> None:
    parser = parsing.add_client_command(
        subparsers,
        "forecast",
        _forecast,
        "what will happen if nobody acts",
        "Tell what will happen if nobody approves, cancels, orders or reads anything: starts, impacts and their ends, "
        "scopes that lapse, the waves of campaigns, each with its instant. Impacts last as long as the server's "
        "settings say. Moving a virtual clock makes just these things happen.",
        "forewarn forecast",
        "forewarn forecast --until 7d --vm web-0",
        "forewarn forecast --event 4CAEA225-A741-474D-A72E-428C86FCD853 --json",
    )
    parser.add_argument(
        "--until",
        type=parsing.when,
        metavar="WHEN",
        help="so far ahead (6h), or until this instant (2030-01-31T12:00:00Z); a day unless said, 8 days at most",
    )
    parser.add_argument("--event", default="", metavar="ID", help="only what becomes of this event")
    parser.add_argument("--scope", default="", metavar="KIND/NAME", help="only of this scope and its events")
    parser.add_argument("--vm", default="", metavar="NAME", help="only of this VM and the events that name it")


def _forecast(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    until = args.until
    if isinstance(until, timedelta):
        until = parse_instant(client.clock()["now"]) + until
    wanted = {"event": args.event, "scope": args.scope, "vm": args.vm}
    found = client.forecast({"until": "" if until is None else show_instant(until), **wanted})
    if out.as_json:
        out.json(found)
        return Exit.OK
    now = parse_instant(found["now"])
    empty = f"Nothing will happen by itself until {show_moment(found['until'])}."
    out.table(_FORECAST, (_row(out, fact, now) for fact in found["facts"]), empty)
    _say_where_it_ends(out, found)
    return Exit.OK


def _row(out: Output, fact: ForecastFact, now: datetime) -> tuple[object, ...]:
    return (
        terse.moment(out, fact["at"]),
        show_distance(parse_instant(fact["at"]), now),
        fact["type"] or "",
        _about(fact),
        f"{fact['text']} (estimated)" if fact["estimated"] else fact["text"],
    )


def _about(fact: ForecastFact) -> str:
    few = ", ".join(fact["vms"][:_VMS_NAMED])
    more = fact["vms_total"] - len(fact["vms"][:_VMS_NAMED])
    return f"{few} and {more} more" if more > 0 else few or fact["scope"] or ""


def _say_where_it_ends(out: Output, found: Forecast) -> None:
    if found["cut_at"] is not None:
        out.note(f"Not all is told from {show_moment(found['cut_at'])} on; ask for one --vm, --scope or --event.")
