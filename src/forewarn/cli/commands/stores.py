"""``forewarn store``, ``backup`` and ``restore``: where regions are kept.

The database that nodes share is prepared with a role that may create tables. A data directory is backed up and restored
as files, beside the server and without asking it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from forewarn.cli import parsing, places
from forewarn.cli.output import Output
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import CommandFailed, Exit
from forewarn.settings.extras import import_part
from forewarn.settings.store_url import show_store
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
    backup = parsing.add_command(
        subparsers,
        "backup",
        _back_up,
        "back up a data directory",
        "Write the journal of a data directory to a new file, also while a server runs on it: as it was at one moment, "
        "with every record checked. Regions in PostgreSQL are backed up with its own tools.",
        "forewarn backup monday.backup",
        "forewarn backup monday.backup --data /var/lib/forewarn",
    )
    restored = parsing.add_command(
        subparsers,
        "restore",
        _restore,
        "make a data directory from a backup",
        "Make a data directory from a backup, with every record checked. A directory that holds a region is left as it "
        "is.",
        "forewarn restore monday.backup --data forewarn-data",
    )
    for parser in (backup, restored):
        parsing.add_json(parser)
        parser.add_argument("file", type=Path, metavar="FILE", help="the backup")
        data = SETTINGS["data"]
        parser.add_argument("--data", type=Path, metavar="DIR", help=f"the data directory (default: {data.default})")


def _prepare(args: argparse.Namespace, out: Output) -> int:
    store = places.store_of(args)
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


def _back_up(args: argparse.Namespace, out: Output) -> int:
    return _copy(args, out, "back_up", f"backed up to {args.file}")


def _restore(args: argparse.Namespace, out: Output) -> int:
    return _copy(args, out, "restore", f"restored to {places.data_of(args)}")


def _copy(args: argparse.Namespace, out: Output, verb: str, told: str) -> int:
    command = f"forewarn {args.command}"
    ports, backups = import_part("forewarn.plane.ports", command), import_part("forewarn.stores.sqlite.backup", command)
    pair = (places.data_of(args), args.file) if verb == "back_up" else (args.file, places.data_of(args))
    try:
        records = getattr(backups, verb)(*pair)
    except ports.JournalFault as problem:
        raise CommandFailed(str(problem)) from None
    if out.as_json:
        out.json({"records": records, "file": str(args.file), "data": str(places.data_of(args))})
    else:
        out.prose(f"{records} records, all as they were written, {told}.")
    return Exit.OK
