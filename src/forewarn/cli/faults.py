"""``forewarn fault``: make the metadata service misbehave on purpose."""

from __future__ import annotations

import argparse
from typing import Any

from forewarn.cli import parsing
from forewarn.cli.errors import Exit, usage
from forewarn.cli.output import Column, Output
from forewarn.cli.parsing import Subparsers
from forewarn.cli.shapes import Fault

KINDS = ("gone", "throttled", "error", "empty", "delay", "drop", "skip")
_COLUMNS = (Column("ID"), Column("KIND"), Column("VMS", flexible=True), Column("HOW OFTEN"), Column("DELAY"))


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers,
        "fault",
        "fault rules of the metadata service",
        "Rules that make the metadata service misbehave on purpose, to see whether its callers cope. They live in the "
        "server's memory.",
    )
    add = parsing.add_client_command(
        group,
        "add",
        _add,
        "add a rule",
        "Spoil answers: gone (410), throttled (429), error (500), empty (200 without a body), delay, drop (the "
        "connection), skip (an incarnation). Without VMs the rule holds for all.",
        "forewarn fault add gone web-0 --times 3",
        "forewarn fault add delay --delay 2s --share 0.1",
    )
    add.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    add.add_argument("vms", nargs="*", metavar="VM", help="name of a VM (default: every VM)")
    add.add_argument("--times", type=parsing.count, metavar="N", help="only the next N answers")
    add.add_argument("--share", type=parsing.share, metavar="X", help="only this share of answers, such as 0.1")
    add.add_argument("--delay", type=parsing.duration, metavar="DURATION", help="how long a delay holds answers back")
    parsing.add_client_command(group, "list", _list, "list rules", "List the rules in force.", "forewarn fault list")
    clear = parsing.add_client_command(
        group, "clear", _clear, "remove rules", "Remove the named rules, or all of them.", "forewarn fault clear"
    )
    clear.add_argument("ids", nargs="*", metavar="ID", help="id of a rule (default: all)")


def _add(args: argparse.Namespace, out: Output) -> int:
    if (args.kind == "delay") != (args.delay is not None):
        raise usage("--delay DURATION goes with the kind delay, and only with it.")
    body: dict[str, Any] = {"kind": args.kind, "vms": parsing.names_of(args.vms) if args.vms else []}
    delay = None if args.delay is None else args.delay.total_seconds()
    optional = {"times": args.times, "share": args.share, "delay_seconds": delay}
    body |= {key: value for key, value in optional.items() if value is not None}
    fault = parsing.client_of(args).add_fault(body)
    if out.as_json:
        out.json(fault)
    else:
        out.prose(f"Fault {fault['id']}: {fault['kind']} for {_whom(fault)}, {_often(fault)}.")
    return Exit.OK


def _list(args: argparse.Namespace, out: Output) -> int:
    faults = parsing.client_of(args).faults()
    if out.as_json:
        out.json(faults)
        return Exit.OK
    rows = ((fault["id"], fault["kind"], _whom(fault), _often(fault), _delay(fault)) for fault in faults)
    out.table(_COLUMNS, rows, "There are no fault rules.")
    return Exit.OK


def _clear(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    for fault_id in args.ids or [""]:
        client.clear_faults(fault_id)
    if out.as_json:
        out.json(client.faults())
    else:
        out.prose(f"Removed {', '.join(args.ids)}." if args.ids else "Removed all fault rules.")
    return Exit.OK


def _whom(fault: Fault) -> str:
    return ", ".join(fault["vms"]) or "every VM"


def _often(fault: Fault) -> str:
    """How many answers the rule takes, in words."""
    words = f"the next {fault['times']} answers" if fault["times"] else "every answer"
    return f"{words}, {100 * fault['share']:g} % of them" if fault["share"] else words


def _delay(fault: Fault) -> str:
    return f"{fault['delay_seconds']:g} s" if fault["delay_seconds"] else ""
