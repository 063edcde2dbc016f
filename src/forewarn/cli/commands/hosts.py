"""``forewarn host``: the machines beneath the VMs, their maintenance and their failures."""

from __future__ import annotations

import argparse

from forewarn.cli import parsing
from forewarn.cli.filters import HOSTS, add_filters, given
from forewarn.cli.outcomes import show_outcome
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import Exit, usage

MAINTENANCE = ("freeze", "live-migration", "network", "reboot", "redeploy", "predicted-failure")
_COLUMNS = (
    Column("NAME"),
    Column("HEALTH"),
    Column("UD", right=True),
    Column("FD", right=True),
    Column("VMS", right=True),
    Column("NAMES", flexible=True),
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


def _list(args: argparse.Namespace, out: Output) -> int:
    hosts = parsing.client_of(args).hosts(given(args, HOSTS))
    if out.as_json:
        out.json(list(hosts))
        return Exit.OK
    rows = (
        (host["name"], host["health"], host["update_domain"], host["fault_domain"], len(host["vms"]), _few(host["vms"]))
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
        fields = ("name", "health", "update_domain", "fault_domain", "vms")
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
