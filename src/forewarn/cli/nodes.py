"""``forewarn node``: the servers of the region."""

from __future__ import annotations

import argparse

from forewarn.cli import parsing
from forewarn.cli.errors import Exit
from forewarn.cli.output import Column, Output, filled
from forewarn.cli.parsing import Subparsers
from forewarn.cli.shapes import Node

_COLUMNS = (
    Column("NAME", flexible=True),
    Column("VERSION"),
    Column("LEADS"),
    Column("LAG", right=True),
    Column("SEEN"),
    Column("STATE"),
    Column("FACES", flexible=True),
    Column("URLS", flexible=True),
)


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "node", "nodes: the servers of the region", "The servers of the region, and whether they agree."
    )
    parsing.add_client_command(
        group,
        "list",
        _list,
        "list nodes",
        "List the nodes that have been seen lately: which of them leads, how many records each had yet to read (its "
        "lag), and what they do. Warns of nodes that have fallen silent, and where they differ in version or rules. "
        "The star is the node that answered.",
        "forewarn node list",
    )


def _list(args: argparse.Namespace, out: Output) -> int:
    found = parsing.client_of(args).nodes()
    if out.as_json:
        out.json(found)
        return Exit.OK
    out.table(_COLUMNS, map(_row, found["nodes"]), "No node has been seen lately.")
    for warning in found["warnings"]:
        out.line(out.paint(filled(f"Warning: {warning}", out.width), "yellow"))
    return Exit.OK


def _row(node: Node) -> tuple[object, ...]:
    return (
        f"{node['name']} *" if node["this"] else node["name"],
        node["version"],
        "leads" if node["leads"] else "",
        node["lag"],
        f"{node['seen_seconds_ago']:.0f}s ago",
        "silent" if node["silent"] else "draining" if node["draining"] else "serving",
        ", ".join(node["faces"]),
        ", ".join(node["urls"]),
    )
