"""``forewarn event``: what is scheduled, who has approved it, and whom it waits for."""

from __future__ import annotations

import argparse
import itertools

from forewarn.cli import ids, parsing, terse
from forewarn.cli.client import Client
from forewarn.cli.errors import Exit
from forewarn.cli.follow import follow
from forewarn.cli.outcomes import approval, not_before, show_events, show_outcome, waits_for
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.cli.shapes import EventStory
from forewarn.cli.times import parse_instant, show_moment
from forewarn.cli.watching import Book, Wanted, change_line

_TIMELINE = (Column("AT"), Column("FACT", spare=True), Column("BY", flexible=True), Column("WHAT", flexible=True))
_ID_HELP = "id of an event; its beginning is enough where that is unique"


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "event", "scheduled events", "Scheduled events: look, follow, approve, cancel."
    )
    listing = parsing.add_client_command(
        group,
        "list",
        _list,
        "list active events",
        "List the events that have not ended, oldest first.",
        "forewarn event list --vm web-0",
    )
    _add_filters(listing)
    show = parsing.add_client_command(
        group,
        "show",
        _show,
        "show an event and its story",
        "Show an event, who approved it, whom it waits for, and every step of its life; ended events too.",
        "forewarn event show 4CAEA225-A741-474D-A72E-428C86FCD853",
    )
    show.add_argument("id", metavar="ID", help=_ID_HELP)
    _add_watch(group)
    for operation, summary, description in (
        ("approve", "let events start now", "Approve events as the operator. All of the ids take effect, or none."),
        ("cancel", "take events back", "Cancel events that have not started; they leave the documents."),
    ):
        _add_turn(group, operation, summary, description)


def _add_filters(parser: parsing.Parser) -> None:
    parser.add_argument("--vm", default="", metavar="NAME", help="only events that name this VM")
    parser.add_argument("--scope", default="", metavar="KIND/NAME", help="only events of this scope")


def _add_watch(group: Subparsers) -> None:
    watch = parsing.add_client_command(
        group,
        "watch",
        _watch,
        "follow events live",
        "Print every change of an event as it happens, until Ctrl-C. A broken connection is mended without losing a "
        "change. With --json each change is one line: the journal's record.",
        "forewarn event watch --scope availability-set/front",
        "forewarn event watch --after 0 --count 10 --json",
    )
    _add_filters(watch)
    watch.add_argument("--id", default="", metavar="ID", help="only this event")
    watch.add_argument("--after", type=parsing.cursor, metavar="N", help="begin after this record (default: now)")
    watch.add_argument("--count", type=parsing.count, metavar="N", help="end after so many changes")


def _add_turn(group: Subparsers, operation: str, summary: str, description: str) -> None:
    def handle(args: argparse.Namespace, out: Output) -> int:
        client = parsing.client_of(args)
        show_outcome(out, client.turn_events(operation, _full_ids(client, parsing.names_of(args.ids))))
        return Exit.OK

    example = f"forewarn event {operation} 4CAEA225-A741-474D-A72E-428C86FCD853"
    parser = parsing.add_client_command(group, operation, handle, summary, description, example)
    parser.add_argument("ids", nargs="+", metavar="ID", help=_ID_HELP)


def _full_ids(client: Client, given: list[str]) -> list[str]:
    """Whole ids pass; beginnings are looked up among the active events."""
    if all(map(ids.is_whole, given)):
        return given
    active = [event["id"] for event in client.events()]
    return [text if ids.is_whole(text) else ids.complete(text, active, "active event") for text in given]


def _list(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    events = client.events(args.scope, args.vm)
    if out.as_json:
        out.json(list(events))
        return Exit.OK
    show_events(out, events, parse_instant(client.clock()["now"]), "There are no active events.")
    return Exit.OK


def _show(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    event = client.event(_full_ids(client, [args.id])[0])
    if out.as_json:
        out.json(event)
        return Exit.OK
    _show_fields(client, out, event)
    out.line()
    rows = ((terse.moment(out, at["at"]), at["fact"], at["by"], at["text"]) for at in event["timeline"])
    out.table(_TIMELINE, rows)
    return Exit.OK


def _show_fields(client: Client, out: Output, event: EventStory) -> None:
    out.fields(
        [
            ("id", event["id"]),
            ("type", event["type"]),
            ("phase", event["phase"]),
            ("cause", f"{event['cause']} ({event['source']})"),
            ("scope", event["scope"]),
            ("resources", event["resources"]),
            ("description", event["description"]),
            ("duration", None if event["duration_seconds"] < 0 else f"{event['duration_seconds']} s"),
            ("not before", not_before(event, parse_instant(client.clock()["now"]))),
            ("approval", approval(event, terse.one_id(out, event["id"]))),
            ("waits for", waits_for(out, event)),
            ("host", event["host"]),
            ("campaign", event["campaign"]),
            ("scheduled", show_moment(event["scheduled_at"])),
            ("started", show_moment(event["started_at"])),
            ("impact", _impact(event)),
        ]
    )


def _impact(event: EventStory) -> str:
    began, ended = show_moment(event["impact_began_at"]), show_moment(event["impact_ended_at"])
    if not began:
        return ""
    return f"{began} to {ended}" if ended else f"since {began}"


def _watch(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    after = client.ping()["seq"] if args.after is None else args.after
    book, wanted = Book(), Wanted(args.id, args.vm, args.scope)
    book.fill(client.events())
    if out.terminal and not out.as_json:
        out.note("Following events; Ctrl-C ends.")
    changes = ((record, book.learn(record)) for record in follow(client, after, out.note))
    shown = ((record, known) for record, known in changes if wanted.has(record, known))
    for record, known in itertools.islice(shown, args.count):
        if out.as_json:
            out.json_line(record)
            continue
        out.line(change_line(out, record, known), at_once=True)
    return Exit.OK
