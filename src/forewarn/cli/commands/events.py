"""``forewarn event``: what is scheduled, who has approved it, and whom it waits for."""

from __future__ import annotations

import argparse
import itertools
from datetime import timedelta

from forewarn.cli import ids, parsing, terse
from forewarn.cli.api.client import OperatorClient
from forewarn.cli.api.follow import follow
from forewarn.cli.api.shapes import EventStory
from forewarn.cli.commands.watching import EventFilter, SeenEvents, change_line
from forewarn.cli.filters import EVENTS, add_filters, given
from forewarn.cli.outcomes import (
    EVENT_COLUMNS,
    PAST_COLUMNS,
    approval,
    not_before,
    show_events,
    show_outcome,
    waits_for,
)
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit, usage
from forewarn.settings.times import parse_instant, show_instant, show_moment

_ERRANDS = (Column("MACHINE IS ASKED TO"), Column("VM"), Column("STATE"), Column("WHY", flexible=True))
_TIMELINE = (
    Column("AT"),
    Column("FACT", spare=True),
    Column("BY", flexible=True),
    Column("WHAT", flexible=True, prose=True),
)
# What `--all` without `--since` looks back; a day is also how long an idle scope stays enabled
_ALL = timedelta(hours=24)
_ID_HELP = "id of an event; its beginning is enough where that is unique"


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "event", "scheduled events", "Scheduled events: look, follow, approve, cancel."
    )
    listing = parsing.add_client_command(
        group,
        "list",
        _list,
        "list events",
        "List the events that have not ended, oldest first; with --all, --since or --until those that have ended too. "
        "On a terminal ids are shortened to their beginnings, which every command takes; --json and pipes get them "
        "whole.",
        "forewarn event list --vm web-0",
        "forewarn event list --all",
        "forewarn event list --since 2h",
    )
    _add_filters(listing)
    add_filters(listing, EVENTS)
    listing.add_argument("--all", action="store_true", help="ended ones too, of the last 24 hours (see --since)")
    parsing.add_span(listing, "events to which something happened")
    show = parsing.add_client_command(
        group,
        "show",
        _show,
        "show an event and its story",
        "Show an event, who approved it, whom it waits for, and every step of its life; ended events too.",
        "forewarn event show 4CAEA225-A741-474D-A72E-428C86FCD853",
    )
    show.add_argument("id", metavar="ID", help=_ID_HELP)
    export = parsing.add_client_command(
        group,
        "export-test",
        _export_test,
        "save what happened as a test",
        "Print a pytest module that makes the same happen again, with the region fixture of forewarn.testing: to one "
        "event, or to each event of a stretch of the journal. Where an event was approved, put your program in the "
        "place of the handler.",
        "forewarn event export-test 4CAEA225-A741-474D-A72E-428C86FCD853 > test_reboot.py",
    )
    export.add_argument("id", metavar="ID", nargs="?", help=_ID_HELP)
    export.add_argument("--after", type=int, metavar="N", help="instead of an id: events made after this record")
    export.add_argument("--to", type=int, metavar="N", help="and not after this one (default: the newest)")
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
    parsing.add_dry_run(parser)


def _full_ids(client: OperatorClient, given: list[str]) -> list[str]:
    """Whole ids pass; beginnings are looked up among the active events."""
    if all(map(ids.is_whole, given)):
        return given
    active = [event["id"] for event in client.events()]
    return [text if ids.is_whole(text) else ids.complete(text, active, "active event") for text in given]


def _full_id(client: OperatorClient, given: str) -> str:
    """The same for one event that may have ended: then it is looked for among those of the last day, as --all does."""
    if ids.is_whole(given):
        return given
    since = show_instant(parse_instant(client.clock()["now"]) - _ALL)
    known = itertools.chain(client.events(), client.events({"since": since}))
    return ids.complete(given, (event["id"] for event in known), "event of the last 24 hours")


def _list(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    if args.all and args.since is None and args.until is None:
        args.since = _ALL
    since, until = parsing.span_of(args, client)
    events = client.events({"scope": args.scope, "vm": args.vm, "since": since, "until": until, **given(args, EVENTS)})
    if out.as_json:
        out.json(list(events))
        return Exit.OK
    empty = "There were no events in that time." if since or until else "There are no active events (--all: ended too)."
    columns = PAST_COLUMNS if since or until else EVENT_COLUMNS
    show_events(out, events, parse_instant(client.clock()["now"]), empty, columns)
    return Exit.OK


def _export_test(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    if (args.id is None) == (args.after is None):
        raise usage("Name an event by its ID, or a stretch of the journal by --after N and --to N.")
    stretch = {"after": args.after, "to": args.to}
    asked = stretch if args.id is None else {"event": _full_id(client, args.id)}
    out.raw(client.server.content("/v1/export/test", asked)[0])
    return Exit.OK


def _show(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    event = client.event(_full_id(client, args.id))
    if out.as_json:
        out.json(event)
        return Exit.OK
    _show_fields(client, out, event)
    out.line()
    if event["errands"]:
        out.table(_ERRANDS, ((each["kind"], each["vm"], each["state"], each["why"]) for each in event["errands"]))
        out.line()
    rows = ((terse.moment(out, at["at"]), at["fact"], at["by"], at["text"]) for at in event["timeline"])
    out.table(_TIMELINE, rows)
    return Exit.OK


def _show_fields(client: OperatorClient, out: Output, event: EventStory) -> None:
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
    book, wanted = SeenEvents(), EventFilter(args.id, args.vm, args.scope)
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
