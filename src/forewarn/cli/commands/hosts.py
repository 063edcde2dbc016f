"""``forewarn host``: the machines beneath the VMs, their maintenance and their failures."""

from __future__ import annotations

import argparse

from forewarn.cli import parsing
from forewarn.cli.api.machine_calls import MachineCalls
from forewarn.cli.filters import HOSTS, add_filters, given
from forewarn.cli.outcomes import say_if_dry, show_outcome
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit, usage

MAINTENANCE = ("freeze", "live-migration", "network", "reboot", "redeploy", "predicted-failure")
_COLUMNS = (
    Column("NAME"),
    Column("HEALTH"),
    Column("UD", right=True),
    Column("FD", right=True),
    Column("ENGINE"),
    Column("VMS", right=True),
    Column("NAMES", flexible=True),
)
_ADD = (
    "Let a host take part that the server's own region file declares as [[host]]: from now on its machines can "
    "be adopted, and new ones made there. Address, engine and fence stand in that file; no command takes them."
)
_REMOVE = (
    "Let a host of real machines go. While VMs live there they are moved away first, with events, and the "
    "command is given again when they are gone. No machine is ended by it."
)
_DRAIN = (
    "Empty a host of real machines: nothing is placed there from now on, and its VMs are moved away with events, while "
    "they run where that can be, else started anew elsewhere. VMs that are down stay. Undone by 'host resume'."
)
_RESUME = (
    "Let a host of real machines take machines again, after it was drained, or was called failing or failed. Events "
    "that were made to drain it are not taken back; 'event cancel' does that."
)
_NAMES_SHOWN = 8  # of a host's VMs: some 80 characters of a table's row


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "host", "hosts: maintenance and failures", "The machines beneath the VMs, and what befalls them."
    )
    listing = parsing.add_client_command(
        group,
        "list",
        _list,
        "list hosts",
        "List the hosts of the region, by number. With options, those for which all of them hold.",
        "forewarn host list",
        "forewarn host list --health failing --work yes",
    )
    add_filters(listing, HOSTS)
    show = parsing.add_client_command(
        group, "show", _show, "show hosts and their VMs", "Show hosts with all their VMs.", "forewarn host show host-0"
    )
    show.add_argument("hosts", nargs="+", metavar="HOST", help="name of a host, such as host-0")
    maintain = parsing.add_client_command(
        group,
        "maintain",
        _maintain,
        "schedule maintenance of hosts",
        "Schedule maintenance. Each scope on a host gets one event, and the host's work starts when all of them are "
        "approved, or at its NotBefore.",
        "forewarn host maintain host-0 --kind live-migration",
        "forewarn host maintain --all --kind freeze",
    )
    maintain.add_argument("hosts", nargs="*", metavar="HOST", help="name of a host")
    maintain.add_argument("--all", action="store_true", help="every host of the region")
    maintain.add_argument("--kind", choices=MAINTENANCE, default="freeze", help="what is done (default: freeze)")
    parsing.add_dry_run(maintain)
    fail = parsing.add_client_command(
        group,
        "fail",
        _fail,
        "break hosts now",
        "Let hosts fail this instant: no notice, events born started, VMs rebuilt elsewhere.",
        "forewarn host fail host-0",
        "forewarn host fail host-0 --dry-run",
    )
    fail.add_argument("hosts", nargs="+", metavar="HOST", help="name of a host")
    parsing.add_dry_run(fail)
    _add_real(group)


def _add_real(group: Subparsers) -> None:
    """What is only for hosts of real machines."""
    for operation, summary, description in (
        ("add", "let a declared host take part", _ADD),
        ("remove", "let a host go", _REMOVE),
        ("drain", "empty a host and keep it empty", _DRAIN),
        ("resume", "let a host take machines again", _RESUME),
    ):
        parser = parsing.add_client_command(
            group, operation, _change, summary, description, f"forewarn host {operation} rack-1"
        )
        parser.set_defaults(operation=operation)
        parser.add_argument("host", metavar="HOST", help="name of a declared host")
        parsing.add_dry_run(parser)
    lost = parsing.add_client_command(
        group,
        "confirm-lost",
        _confirm_lost,
        "say that a silent host is off",
        "Say that a host of which nothing is heard is off: you have seen it, or pulled its plug. Its VMs are then "
        "started elsewhere; were it not off, they would run twice.",
        "forewarn host confirm-lost rack-1",
    )
    lost.add_argument("host", metavar="HOST", help="name of a silent host")
    parsing.add_dry_run(lost)


def _change(args: argparse.Namespace, out: Output) -> int:
    found = MachineCalls(parsing.client_of(args)).change_host(args.operation, args.host)
    if out.as_json:
        out.json(found)
    else:
        say_if_dry(out, found["dry_run"])
        out.prose(found["message"])
    return Exit.OK


def _confirm_lost(args: argparse.Namespace, out: Output) -> int:
    show_outcome(out, MachineCalls(parsing.client_of(args)).confirm_lost(args.host))
    return Exit.OK


def _list(args: argparse.Namespace, out: Output) -> int:
    hosts = parsing.client_of(args).hosts(given(args, HOSTS))
    if out.as_json:
        out.json(list(hosts))
        return Exit.OK
    rows = (
        (
            host["name"],
            host["health"],
            host["update_domain"],
            host["fault_domain"],
            host["engine"],
            len(host["vms"]),
            _few(host["vms"]),
        )
        for host in hosts
    )
    out.table(_COLUMNS, rows, "There are no hosts yet; they come with the first VMs.")
    return Exit.OK


def _few(names: list[str]) -> str:
    return ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")


def _show(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    found = [client.host(name) for name in parsing.names_of(args.hosts)]
    if out.as_json:
        out.json(found[0] if len(found) == 1 else found)
        return Exit.OK
    for host in found:
        fields = ("name", "health", "engine", "update_domain", "fault_domain", "capacity", "vms")
        # Keys from a tuple of the shape's own
        out.fields((key.replace("_", " "), host[key]) for key in fields)  # type: ignore[literal-required]
    return Exit.OK


def _maintain(args: argparse.Namespace, out: Output) -> int:
    if bool(args.hosts) == args.all:
        raise usage("name the hosts to maintain, or say --all: one of the two.")
    hosts = [] if args.all else parsing.names_of(args.hosts)
    show_outcome(out, parsing.client_of(args).maintain(hosts, args.kind))
    return Exit.OK


def _fail(args: argparse.Namespace, out: Output) -> int:
    show_outcome(out, parsing.client_of(args).fail_hosts(parsing.names_of(args.hosts)))
    return Exit.OK
