"""``forewarn campaign``: maintenance over a fleet, one update domain at a time."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any

from forewarn.cli import ids, parsing, terse
from forewarn.cli.api.client import OperatorClient
from forewarn.cli.api.shapes import Campaign
from forewarn.cli.commands.hosts import MAINTENANCE
from forewarn.cli.outcomes import say_if_dry
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit
from forewarn.settings.times import parse_instant, show_distance, show_moment

_COLUMNS = (
    Column("ID"),
    Column("KIND", flexible=True),
    Column("STATE"),
    Column("WAVE"),
    Column("OPEN", right=True),
    Column("EVENTS", right=True),
    Column("STARTED"),
    Column("ENDED", spare=True),
)

_ID_HELP = "id of the campaign; its beginning is enough where that is unique"
_PHASES = ("scheduled", "approved", "started")
_TURNS = (
    ("pause", "hold a campaign", "Hold a campaign: what is scheduled goes on, nothing new is scheduled."),
    ("resume", "go on with a held campaign", "Go on with a campaign that was paused."),
    ("cancel", "end a campaign", "End a campaign: its events that have not started disappear."),
)


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "campaign", "maintenance over a fleet", "Maintenance over a fleet, one update domain at a time."
    )
    start = parsing.add_client_command(
        group,
        "start",
        _start,
        "start a campaign",
        "Walk the update domains of the chosen hosts: the next domain's events are scheduled when the previous ones "
        "have left the documents. Without --host and --scope every host is chosen.",
        "forewarn campaign start --kind reboot --hosts-at-once 2",
        "forewarn campaign start --kind freeze --scope availability-set/front",
        "forewarn campaign start --kind reboot --dry-run",
    )
    start.add_argument("--kind", choices=MAINTENANCE, default="freeze", help="what is done (default: freeze)")
    start.add_argument("--host", action="append", default=[], metavar="HOST", help="this host (repeat for more)")
    start.add_argument("--scope", action="append", default=[], metavar="KIND/NAME", help="the hosts of this scope")
    start.add_argument("--hosts-at-once", type=parsing.count, metavar="N", help="at most so many hosts at a time")
    parsing.add_dry_run(start)
    parsing.add_client_command(
        group, "list", _list, "list campaigns", "List campaigns, ended ones too.", "forewarn campaign list"
    )
    show = parsing.add_client_command(
        group,
        "show",
        _show,
        "show a campaign",
        "Show how far a campaign has come: how many hosts are done and left, how many events are in which phase, and "
        "what the next wave waits for.",
        "forewarn campaign show 4CAEA225",
        "forewarn campaign show 4CAEA225 --ids | forewarn event approve -",
    )
    show.add_argument("id", metavar="ID", help=_ID_HELP)
    show.add_argument("--ids", action="store_true", help="print the ids of its open events alone, one on a line")
    for operation, summary, description in _TURNS:
        _add_turn(group, operation, summary, description)


def _add_turn(group: Subparsers, operation: str, summary: str, description: str) -> None:
    def handle(args: argparse.Namespace, out: Output) -> int:
        client = parsing.client_of(args)
        _say(out, client, client.turn_campaign(_full_id(client, args.id), operation))
        return Exit.OK

    parser = parsing.add_client_command(
        group, operation, handle, summary, description, f"forewarn campaign {operation} 4CAEA225"
    )
    parser.add_argument("id", metavar="ID", help=_ID_HELP)
    parsing.add_dry_run(parser)


def _full_id(client: OperatorClient, given: str) -> str:
    """A whole id passes; a beginning is looked up among all campaigns."""
    if ids.is_whole(given):
        return given
    return ids.complete(given, (campaign["id"] for campaign in client.campaigns()), "campaign")


def _start(args: argparse.Namespace, out: Output) -> int:
    body: dict[str, Any] = {"kind": args.kind, "hosts": args.host, "scopes": args.scope}
    if args.hosts_at_once:
        body["hosts_at_once"] = args.hosts_at_once
    client = parsing.client_of(args)
    _say(out, client, client.start_campaign(body))
    return Exit.OK


def _list(args: argparse.Namespace, out: Output) -> int:
    campaigns = list(parsing.client_of(args).campaigns())
    if out.as_json:
        out.json(campaigns)
        return Exit.OK
    short = terse.ids(out, (campaign["id"] for campaign in campaigns))
    out.table(_COLUMNS, (_row(out, short, campaign) for campaign in campaigns), "There are no campaigns.")
    return Exit.OK


def _row(out: Output, short: Callable[[str], str], campaign: Campaign) -> tuple[object, ...]:
    return (
        short(campaign["id"]),
        campaign["kind"],
        campaign["state"],
        _wave(campaign),
        campaign["open_events_total"],
        campaign["events_total"],
        terse.moment(out, campaign["started_at"]),
        terse.moment(out, campaign["ended_at"]),
    )


def _wave(campaign: Campaign) -> str:
    return f"{campaign['wave_number']} of {campaign['waves_total']}"


def _show(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    campaign = client.campaign(_full_id(client, args.id))
    if not args.ids:
        _say(out, client, campaign)
        return Exit.OK
    found = [event["id"] for event in client.events() if event["campaign"] == campaign["id"]]
    if out.as_json:
        out.json(found)
        return Exit.OK
    for event_id in found:
        out.line(event_id)
    return Exit.OK


def _say(out: Output, client: OperatorClient, campaign: Campaign) -> None:
    if out.as_json:
        out.json(campaign)
        return
    say_if_dry(out, client.dry_run)
    hosts = campaign["hosts"]
    out.fields(
        [
            ("id", terse.one_id(out, campaign["id"])),
            ("kind", campaign["kind"]),
            ("state", campaign["state"]),
            ("wave", _wave(campaign)),
            ("hosts", f"{hosts['done']} done, {hosts['working']} being worked on, {hosts['left']} left"),
            ("events so far", campaign["events_total"]),
            ("open events", _open_events(campaign)),
            ("next wave", _next_wave(campaign, parse_instant(client.clock()["now"]))),
            ("held up", campaign["waits_for"]),
            ("started", show_moment(campaign["started_at"])),
            ("ended", show_moment(campaign["ended_at"])),
        ]
    )


def _open_events(campaign: Campaign) -> str:
    counts = campaign["open_events_by_phase"]
    return ", ".join(f"{counts[phase]} {phase}" for phase in _PHASES if phase in counts)


def _next_wave(campaign: Campaign, now: datetime) -> str:
    """Which update domain comes next, and when: only the longest that it can take is known."""
    if campaign["next_wave"] is None:
        return ""
    which = f"update domain {campaign['next_wave']}"
    if campaign["state"] == "paused":
        return f"{which}, once the campaign is resumed"
    told, by = f"{which}, when this one's events are gone", campaign["open_events_start_by"]
    return f"{told}; they start by {show_moment(by)} ({show_distance(parse_instant(by), now)})" if by else told
