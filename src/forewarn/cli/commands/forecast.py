"""``forewarn forecast``: what will happen if nobody acts."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta

from forewarn.cli import parsing, terse
from forewarn.cli.api.shapes import Forecast, ForecastFact
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit
from forewarn.settings.times import parse_instant, show_distance, show_instant, show_moment

_COLUMNS = (
    Column("AT"),
    Column("IN", spare=True),
    Column("TYPE"),
    Column("ABOUT", flexible=True),
    Column("WHAT", flexible=True, prose=True),
)
_NAMED = 3


def add_to(subparsers: Subparsers) -> None:
    parser = parsing.add_client_command(
        subparsers,
        "forecast",
        _show,
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


def _show(args: argparse.Namespace, out: Output) -> int:
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
    out.table(_COLUMNS, (_row(out, fact, now) for fact in found["facts"]), empty)
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
    few = ", ".join(fact["vms"][:_NAMED])
    more = fact["vms_total"] - len(fact["vms"][:_NAMED])
    return f"{few} and {more} more" if more > 0 else few or fact["scope"] or ""


def _say_where_it_ends(out: Output, found: Forecast) -> None:
    if found["cut_at"] is not None:
        out.note(f"Not all is told from {show_moment(found['cut_at'])} on; ask for one --vm, --scope or --event.")
