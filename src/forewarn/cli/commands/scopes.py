"""``forewarn scope``: who sees which events, and whose approval is not needed."""

from __future__ import annotations

import argparse

from forewarn.cli import parsing, terse
from forewarn.cli.api.shapes import Policy, Scope
from forewarn.cli.filters import SCOPES, add_filters, given
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit
from forewarn.settings.times import show_moment

_COLUMNS = (
    Column("SCOPE", flexible=True, tail=True),
    Column("VMS", right=True),
    Column("EVENTS", right=True),
    Column("INCARNATION", right=True),
    Column("ENABLED SINCE"),
    Column("LAST READ", spare=True),
)


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers,
        "scope",
        "scopes: who sees and may approve",
        "A lone VM, an availability set or a cloud service: its VMs see the same events and may approve them.",
    )
    listing = parsing.add_client_command(
        group,
        "list",
        _list,
        "list scopes",
        "List scopes; a lone VM shows up once it has read its events. With options, those for which all of them hold.",
        "forewarn scope list",
        "forewarn scope list --kind availability-set",
    )
    add_filters(listing, SCOPES)
    show = parsing.add_client_command(
        group,
        "show",
        _show,
        "show a scope",
        "Show a scope: since when it is enabled, its events, its policy.",
        "forewarn scope show availability-set/front",
    )
    show.add_argument("scope", metavar="KIND/NAME", help="vm/NAME, availability-set/NAME or cloud-service/NAME")
    policy = parsing.add_client_command(
        group,
        "policy",
        _policy,
        "choose what needs no approval",
        "Choose which user operations start without approval; without options, show the policy. What is not named "
        "stays as it is.",
        "forewarn scope policy availability-set/front --auto-approve-reboot",
        "forewarn scope policy availability-set/front --no-auto-approve-reboot",
    )
    policy.add_argument("scope", metavar="KIND/NAME", help="vm/NAME, availability-set/NAME or cloud-service/NAME")
    for option, text in (
        ("--auto-approve-reboot", "user restarts start at once"),
        ("--auto-approve-redeploy", "user redeploys start at once"),
        ("--all-instances-down", "an event whose VMs are all stopped is approved at once"),
    ):
        policy.add_argument(option, action=argparse.BooleanOptionalAction, default=None, help=text)


def _list(args: argparse.Namespace, out: Output) -> int:
    scopes = parsing.client_of(args).scopes(given(args, SCOPES))
    if out.as_json:
        out.json(list(scopes))
        return Exit.OK
    rows = (
        (
            scope["key"],
            scope["vms"],
            len(scope["events"]),
            scope["incarnation"],
            terse.moment(out, scope["enabled_at"]) or "not enabled",
            terse.moment(out, scope["last_read_at"]),
        )
        for scope in scopes
    )
    out.table(_COLUMNS, rows, "There are no scopes yet.")
    return Exit.OK


def _show(args: argparse.Namespace, out: Output) -> int:
    _say(out, parsing.client_of(args).scope(*parsing.split_scope(args.scope)))
    return Exit.OK


def _policy(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    kind, name = parsing.split_scope(args.scope)
    current = client.scope(kind, name)["policy"]
    chosen = _merged(current, args)
    if chosen != current:
        client.set_policy(kind, name, chosen)
    if out.as_json:
        out.json(chosen)
    else:
        out.fields((key.replace("_", " "), value) for key, value in chosen.items())
    return Exit.OK


def _merged(current: Policy, args: argparse.Namespace) -> Policy:
    """The API replaces a policy as a whole, so what was not named is repeated."""

    def choose(given: bool | None, now: bool) -> bool:
        return now if given is None else given

    return {
        "auto_approve_reboot": choose(args.auto_approve_reboot, current["auto_approve_reboot"]),
        "auto_approve_redeploy": choose(args.auto_approve_redeploy, current["auto_approve_redeploy"]),
        "all_instances_down": choose(args.all_instances_down, current["all_instances_down"]),
    }


def _say(out: Output, scope: Scope) -> None:
    if out.as_json:
        out.json(scope)
        return
    out.fields(
        [
            ("scope", scope["key"]),
            ("vms", scope["vms"]),
            ("enabled", show_moment(scope["enabled_at"]) or "no: nobody reads, so nothing waits for approval"),
            ("last read", show_moment(scope["last_read_at"])),
            ("incarnation", scope["incarnation"]),
            ("events", [*map(terse.ids(out, scope["events"]), scope["events"])]),
            *((key.replace("_", " "), value) for key, value in scope["policy"].items()),
        ]
    )
