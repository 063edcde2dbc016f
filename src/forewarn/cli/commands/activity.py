"""``forewarn activity``: who did what through which door, and what came of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from forewarn.cli import parsing
from forewarn.cli.api.client import Client
from forewarn.cli.api.follow import follow
from forewarn.cli.api.shapes import Activity
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit, usage
from forewarn.settings.times import show_moment

DOORS = ("portal", "operator", "resource-manager", "vm", "clock", "driver")
_PAGE = 1_000
_NAMED = 3

_COLUMNS = (
    Column("AT"),
    Column("DOOR"),
    Column("WHO", flexible=True),
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
        "(operator) or from az and the SDKs (resource-manager); what time and the driver did by themselves is there "
        "too. It is told from the journal, so requests that were refused or changed nothing, fault rules and the "
        "speed of the clock are not in it.",
        "forewarn activity",
        "forewarn activity --door resource-manager --follow",
        "forewarn activity --about web-0 --json",
    )
    parser.add_argument("--lines", type=parsing.count, default=20, metavar="N", help="how many (default: 20)")
    parser.add_argument("--follow", action="store_true", help="go on with new activity as it comes, until Ctrl-C")
    parser.add_argument("--count", type=parsing.count, metavar="N", help="with --follow, end after so many new ones")
    parser.add_argument("--door", default="", choices=DOORS, help="only what came in this way")
    parser.add_argument(
        "--about", default="", metavar="SUBJECT", help="only about this: a VM, scale set, host or scope, or an id"
    )


def _activity(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    if args.count and not args.follow:
        raise usage("--count goes with --follow; without it, --lines says how many.")
    page = client.activity(None, args.lines, args.door, args.about)
    if out.as_json and not args.follow:
        out.json(page["activity"])
        return Exit.OK
    if out.as_json:
        for line in page["activity"]:
            out.json_line(line)
    else:
        out.table(_COLUMNS, map(_row, page["activity"]), "Nobody has done anything like that yet.")
    if args.follow:
        _follow(client, out, page["head"], args)
    return Exit.OK


def _follow(client: Client, out: Output, head: int, args: argparse.Namespace) -> None:
    left = args.count
    for line in _new(client, out, head, args.door, args.about):
        if out.as_json:
            out.json_line(line)
        else:
            out.line("  ".join(str(cell) for cell in _row(line) if cell), at_once=True)
        left = left - 1 if left else left
        if left == 0:
            return


def _new(client: Client, out: Output, head: int, door: str, about: str) -> Iterator[Activity]:
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
            page = client.activity(after, _PAGE, door, about)
            yield from page["activity"]
            after, told = page["next"], page["head"]


def _row(line: Activity) -> tuple[object, ...]:
    return (
        show_moment(line["at"]),
        line["door"],
        line["who"],
        line["text"],
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
