"""``forewarn campaign``: maintenance over a fleet, one update domain at a time."""

from __future__ import annotations

import argparse
from typing import Any

from forewarn.cli import parsing
from forewarn.cli.api.shapes import Campaign
from forewarn.cli.commands.hosts import MAINTENANCE
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit
from forewarn.settings.times import show_moment

_COLUMNS = (
    Column("ID"),
    Column("KIND"),
    Column("STATE"),
    Column("WAVE"),
    Column("OPEN", right=True),
    Column("EVENTS", right=True),
    Column("STARTED"),
    Column("ENDED"),
)

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
    )
    start.add_argument("--kind", choices=MAINTENANCE, default="freeze", help="what is done (default: freeze)")
    start.add_argument("--host", action="append", default=[], metavar="HOST", help="this host (repeat for more)")
    start.add_argument("--scope", action="append", default=[], metavar="KIND/NAME", help="the hosts of this scope")
    start.add_argument("--hosts-at-once", type=parsing.count, metavar="N", help="at most so many hosts at a time")
    parsing.add_client_command(
        group, "list", _list, "list campaigns", "List campaigns, ended ones too.", "forewarn campaign list"
    )
    show = parsing.add_client_command(
        group, "show", _show, "show a campaign", "Show how far a campaign has come.", "forewarn campaign show ID"
    )
    show.add_argument("id", metavar="ID", help="id of the campaign")
    for operation, summary, description in _TURNS:
        _add_turn(group, operation, summary, description)


def _add_turn(group: Subparsers, operation: str, summary: str, description: str) -> None:
    def handle(args: argparse.Namespace, out: Output) -> int:
        client = parsing.client_of(args)
        client.turn_campaign(args.id, operation)
        _say(out, client.campaign(args.id))
        return Exit.OK

    parser = parsing.add_client_command(
        group, operation, handle, summary, description, f"forewarn campaign {operation} ID"
    )
    parser.add_argument("id", metavar="ID", help="id of the campaign")


def _start(args: argparse.Namespace, out: Output) -> int:
    body: dict[str, Any] = {"kind": args.kind, "hosts": args.host, "scopes": args.scope}
    if args.hosts_at_once:
        body["hosts_at_once"] = args.hosts_at_once
    _say(out, parsing.client_of(args).start_campaign(body))
    return Exit.OK


def _list(args: argparse.Namespace, out: Output) -> int:
    campaigns = parsing.client_of(args).campaigns()
    if out.as_json:
        out.json(list(campaigns))
        return Exit.OK
    out.table(_COLUMNS, (_row(campaign) for campaign in campaigns), "There are no campaigns.")
    return Exit.OK


def _row(campaign: Campaign) -> tuple[object, ...]:
    return (
        campaign["id"],
        campaign["kind"],
        campaign["state"],
        _wave(campaign),
        campaign["open_events_total"],
        campaign["events_total"],
        show_moment(campaign["started_at"]),
        show_moment(campaign["ended_at"]),
    )


def _open_events(campaign: Campaign) -> list[str]:
    more = campaign["open_events_total"] - len(campaign["open_events"])
    return [*campaign["open_events"], *([f"and {more} more"] if more else [])]


def _wave(campaign: Campaign) -> str:
    """Waves are numbered as update domains are, from 0; people count from 1."""
    return f"{campaign['wave'] + 1} of {campaign['waves_total']}"


def _show(args: argparse.Namespace, out: Output) -> int:
    _say(out, parsing.client_of(args).campaign(args.id))
    return Exit.OK


def _say(out: Output, campaign: Campaign) -> None:
    if out.as_json:
        out.json(campaign)
        return
    out.fields(
        [
            ("id", campaign["id"]),
            ("kind", campaign["kind"]),
            ("state", campaign["state"]),
            ("wave", _wave(campaign)),
            ("hosts waiting", campaign["hosts_waiting"]),
            *([("waits for", campaign["waits_for"])] if campaign["waits_for"] else []),
            ("events so far", campaign["events_total"]),
            ("open events", _open_events(campaign)),
            ("started", show_moment(campaign["started_at"])),
            ("ended", show_moment(campaign["ended_at"])),
        ]
    )
