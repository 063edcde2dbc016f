"""``forewarn store``: the database that nodes share, prepared with a role that may create tables."""

from __future__ import annotations

import argparse
import os

from forewarn.cli import parsing
from forewarn.cli.output import Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import CommandFailed, Exit, usage
from forewarn.settings.extras import import_part
from forewarn.settings.store_url import read_store, show_store
from forewarn.settings.table import SETTINGS

_SETTING = SETTINGS["store"]


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers,
        "store",
        "the database that nodes share",
        "The PostgreSQL database that the nodes of a region share.",
    )
    prepare = parsing.add_command(
        group,
        "prepare",
        _prepare,
        "make or upgrade the tables",
        "Make the tables of a region, or bring those of an older version up to date. 'forewarn serve' does that by "
        "itself where its role may; for nodes whose role may only read and write, run this as the owner, with --grant "
        "and the name of their role. Running it again changes nothing.",
        "FOREWARN_STORE=postgresql://owner@db.example/forewarn forewarn store prepare --grant forewarn",
    )
    parsing.add_json(prepare)
    prepare.add_argument(
        _SETTING.flag, metavar=_SETTING.kind.metavar, help=f"the database; better given as {_SETTING.variable}"
    )
    prepare.add_argument("--grant", default="", metavar="ROLE", help="let this role run nodes, with the least it needs")


def _prepare(args: argparse.Namespace, out: Output) -> int:
    store = _chosen(args.store or os.environ.get(_SETTING.variable, ""))
    ports = import_part("forewarn.plane.ports", "forewarn store prepare")
    postgres = import_part("forewarn.stores.postgres.journal", "forewarn store prepare")
    try:
        told = postgres.prepare(store, args.grant)
    except ports.JournalFault as problem:
        raise CommandFailed(str(problem)) from None
    if out.as_json:
        out.json({"store": show_store(store), "granted_to": args.grant})
    else:
        out.line(told)
    return Exit.OK


def _chosen(text: str) -> str:
    if not text:
        raise usage(f"which database? Set {_SETTING.variable}, or give {_SETTING.flag}.")
    try:
        return read_store(text)
    except ValueError as problem:
        raise usage(f"the setting {_SETTING.name} is not right: {problem}.") from None
