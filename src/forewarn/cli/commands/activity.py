"""``forewarn activity``: who did what through which door, and what came of it."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

from forewarn.cli import parsing, terse
from forewarn.cli.api.client import OperatorClient
from forewarn.cli.api.follow import follow
from forewarn.cli.api.time_shapes import Activity
from forewarn.cli.output import Column, Output, cut
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit, usage

DOORS = ("portal", "operator", "resource-manager", "vm", "clock", "driver")
_PAGE = 1_000  # ours: a tenth of what the API gives at most, so that the first lines are shown soon
_USUAL = 20  # fits a terminal of 24 lines, the smallest usual one
_NAMED = 3  # of what a line is about, so that it mostly fits 80 columns

_COLUMNS = (
    Column("AT"),
    Column("DOOR"),
    Column("WHO", flexible=True, spare=True),
    Column("WHAT"),
    Column("ABOUT", flexible=True),
    Column("OUTCOME", flexible=True),
)


def add_to(subparsers: Subparsers) -> None:
    parser = parsing.add_client_command(
        subparsers,
        "activity",
        _activity,
        "who did what, through which door",
        "Show who changed what: one line for each request, whether it came from a VM, from this command line "
        "(operator) or from az and the SDKs (resource-manager); what time (clock) and the engine (driver) did by "
        "themselves is there too. It is told from the journal, so requests that were refused or changed nothing, "
        "fault rules and the speed of the clock are not in it.",
        "forewarn activity",
        "forewarn activity --since 2h",
        "forewarn activity --door resource-manager --follow",
        "forewarn activity --about web-0 --json",
    )
    parser.add_argument("--lines", type=parsing.count, metavar="N", help="how many (default: 20; all with --since)")
    parsing.add_span(parser, "what was done")
    parser.add_argument(
        "--fold",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="tell like requests in a row as one line with their number (default: on a terminal)",
    )
    parser.add_argument("--follow", action="store_true", help="go on with new activity as it comes, until Ctrl-C")
    parser.add_argument("--count", type=parsing.count, metavar="N", help="with --follow, end after so many new ones")
    parser.add_argument("--door", default="", choices=DOORS, help="only what came in this way")
    parser.add_argument(
        "--about", default="", metavar="SUBJECT", help="only about this: a VM, scale set, host or scope, or an id"
    )
    parser.add_argument("--who", default="", metavar="NAME", help="only what this one did, as the column WHO names it")


def _activity(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    if args.count and not args.follow:
        raise usage("--count goes with --follow; without it, --lines says how many.")
    if args.until is not None and args.follow:
        raise usage("--follow goes on with what is new, and --until ends before that: leave one of them off.")
    wanted, head = _wanted(args, out, client), client.ping()["seq"]
    lines = _lines(client, wanted, args.lines)
    rows = (_row(out, line) for line in lines)
    out.so_far(lines, _COLUMNS, rows, "Nobody has done anything like that yet.", more=args.follow)
    if args.follow:
        _follow(client, out, max([head, *(line["seq"] for line in lines)]), wanted, args.count)
    return Exit.OK


def _wanted(args: argparse.Namespace, out: Output, client: OperatorClient) -> dict[str, str]:
    since, until = parsing.span_of(args, client)
    fold = out.terminal and not out.as_json if args.fold is None else args.fold
    told = "true" if fold else ""
    return {"door": args.door, "about": args.about, "who": args.who, "since": since, "until": until, "fold": told}


def _lines(client: OperatorClient, wanted: dict[str, str], most: int | None) -> list[Activity]:
    """The newest, or all since an instant: ``most`` of them are then the first."""
    if not wanted["since"]:
        return client.activity(None, most or _USUAL, wanted)["activity"]
    lines: list[Activity] = []
    after: int | None = 0
    while after is not None and (most is None or len(lines) < most):
        page = client.activity(after, min(_PAGE, most - len(lines)) if most else _PAGE, wanted)
        lines += page["activity"]
        after = page["next"]
    return lines


def _follow(client: OperatorClient, out: Output, head: int, wanted: dict[str, str], count: int | None) -> None:
    for line in itertools.islice(_new(client, out, head, wanted), count):
        if out.as_json:
            out.json_line(line)
        else:
            told = "  ".join(str(cell) for cell in _row(out, line) if cell)
            out.line(told if out.width is None else cut(told, out.width), at_once=True)


def _new(client: OperatorClient, out: Output, head: int, wanted: dict[str, str]) -> Iterator[Activity]:
    """The stream of the journal says that there is something new; what it is, the server tells in words."""
    told = streamed = head
    for record in follow(client, head, out.note):
        if record["seq"] <= streamed:
            told = record["seq"] - 1  # another journal, from its beginning
        streamed = record["seq"]
        if streamed <= told:
            continue
        after: int | None = told
        while after is not None:
            page = client.activity(after, _PAGE, wanted)
            yield from page["activity"]
            after, told = page["next"], page["head"]


def _row(out: Output, line: Activity) -> tuple[object, ...]:
    times = f"{line['times']}x " if line["times"] > 1 else ""
    return (
        terse.moment(out, line["at"]),
        line["door"],
        line["who"],
        times + line["text"],
        _about(line),
        line["outcome"],
    )


def _about(line: Activity) -> str:
    """The first few names, and how many more there are."""
    named = ", ".join(_name(subject) for subject in line["about"][:_NAMED])
    more = line["about_total"] - len(line["about"][:_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _name(subject: str) -> str:
    """VMs and hosts by their names; everything else as the journal names it."""
    kind, _, name = subject.partition("/")
    return {"vm": name, "host": f"host-{name}"}.get(kind, subject)
