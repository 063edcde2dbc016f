"""``forewarn journal``: the facts themselves, to read, to check and to take along."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from forewarn.cli import parsing, places, terse
from forewarn.cli.api.client import PAGE, OperatorClient
from forewarn.cli.api.follow import follow
from forewarn.cli.api.time_shapes import Record
from forewarn.cli.output import Column, Output, Progress, cut
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import CommandFailed, Exit
from forewarn.settings.extras import import_part
from forewarn.settings.store_url import show_store

_T = TypeVar("_T")

_COLUMNS = (
    Column("#", right=True),
    Column("AT"),
    Column("FACT"),
    Column("SUBJECT", flexible=True),
    Column("BY", flexible=True),
)


def add_to(subparsers: Subparsers) -> None:
    group = parsing.add_group(
        subparsers, "journal", "the journal of facts", "Everything that ever happened in the region, in order."
    )
    tail = parsing.add_client_command(
        group,
        "tail",
        _tail,
        "print the last facts",
        "Print the last facts of the journal and, with --follow, every new one until Ctrl-C.",
        "forewarn journal tail --lines 50",
        "forewarn journal tail --about vm/web-0",
    )
    tail.add_argument("--lines", type=parsing.count, default=20, metavar="N", help="how many (default: 20)")
    tail.add_argument("--follow", action="store_true", help="go on with new facts as they come")
    tail.add_argument("--about", default="", metavar="SUBJECT", help="an event's id, vm/NAME, host/N or a scope")
    parsing.add_client_command(
        group,
        "verify",
        _verify,
        "check the whole journal",
        "Read every record and check it. Ends with status 1 where anything is wrong.",
        "forewarn journal verify",
    )
    export = parsing.add_client_command(
        group,
        "export",
        _export,
        "write the journal as JSON lines",
        "Write every record as one line of JSON, to standard output or to a file that appears when it is complete.",
        "forewarn journal export --output region.jsonl",
    )
    _add_import(group)
    export.add_argument("--after", type=parsing.cursor, default=0, metavar="N", help="begin after this record")
    export.add_argument("--output", type=Path, metavar="FILE", help="file to write (default: standard output)")


def _add_import(group: Subparsers) -> None:
    parser = parsing.add_command(
        group,
        "import",
        _import,
        "bring a data directory to PostgreSQL",
        "Bring the journal of a data directory into an empty PostgreSQL database, with the numbers, times and chain of "
        "its records, so that nodes can share the region. Every record is checked before it leaves and when it has "
        "arrived, and all become visible at once: who is stopped in the middle leaves the database empty, and begins "
        "again. Stop the server first. The directory is left as it is.",
        "FOREWARN_STORE=postgresql://forewarn@db.example/forewarn forewarn journal import --data forewarn-data",
    )
    parsing.add_json(parser)
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data directory (default: forewarn-data)")
    parser.add_argument("--store", metavar="URL", help="the database; better given as FOREWARN_STORE")


def _tail(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    head = client.ping()["seq"]
    records = _last(client, head, args.lines, args.about)
    rows = (_row(out, record) for record in records)
    out.so_far(records, _COLUMNS, rows, "The journal holds nothing about that yet.", more=args.follow)
    if args.follow:
        _follow(client, out, head, args.about)
    return Exit.OK


def _last(client: OperatorClient, head: int, lines: int, about: str) -> list[Record]:
    if about:
        return list(_all(client, 0, about))[-lines:]
    return list(_all(client, max(head - lines, 0)))[:lines]


def _all(client: OperatorClient, after: int, about: str = "") -> Iterator[Record]:
    while page := client.records(after, PAGE, about):
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1]["seq"]


def _follow(client: OperatorClient, out: Output, head: int, about: str) -> None:
    for record in follow(client, head, out.note):
        if about and record["subject"].lower() != about.lower():
            continue
        if out.as_json:
            out.json_line(record)
        else:
            line = "  ".join(map(str, _row(out, record)))
            out.line(line if out.width is None else cut(line, out.width), at_once=True)


def _row(out: Output, record: Record) -> tuple[object, ...]:
    by = f"{record['door']} {record['who']}".strip()
    return record["seq"], terse.moment(out, record["at"]), record["fact"], record["subject"], by


def _verify(args: argparse.Namespace, out: Output) -> int:
    verdict = parsing.client_of(args).verify()
    if out.as_json:
        out.json(verdict)
    else:
        for fault in verdict["faults"]:
            out.prose(fault)
        count = len(verdict["faults"])
        out.line(f"{verdict['records']} records read, {count or 'nothing'} wrong.")
    return Exit.FAILED if verdict["faults"] else Exit.OK


def _export(args: argparse.Namespace, out: Output) -> int:
    client = parsing.client_of(args)
    lines = (json.dumps(record, separators=(",", ":")) for record in _all(client, args.after))
    if args.output is None:
        for line in lines:
            print(line)
        return Exit.OK
    total = max(client.ping()["seq"] - args.after, 0)
    try:
        written = _write(args.output, lines, out, total)
    except OSError as problem:
        raise CommandFailed(f"cannot write {args.output}: {problem.strerror or problem}.") from None
    out.note(f"{written} records written to {args.output}.")
    return Exit.OK


def _import(args: argparse.Namespace, out: Output) -> int:
    command = "forewarn journal import"
    data, store = places.data_of(args), places.store_of(args)
    ports, leaving = (
        import_part("forewarn.plane.ports", command),
        import_part("forewarn.stores.sqlite.leaving", command),
    )
    arriving = import_part("forewarn.stores.postgres.importing", command)
    try:
        with leaving.held(data) as journal:
            records = journal.last[0]
            with out.progress("importing", records) as progress:
                is_new = arriving.take_in(store, journal.last, lambda: _counted(journal.rows(), progress))
    except ports.JournalFault as problem:
        raise CommandFailed(str(problem)) from None
    if out.as_json:
        out.json({"records": records, "imported": is_new, "data": str(data), "store": show_store(store)})
        return Exit.OK
    done = "are in" if is_new else "were in"
    again = "" if is_new else " already, and nothing else is there"
    out.prose(
        f"{records} records, all as they were written, {done} {show_store(store)}{again}. Serve from there from now "
        f"on: {data} is left as it was, and a server started on it would go its own way."
    )
    return Exit.OK


def _counted(rows: Iterator[_T], progress: Progress) -> Iterator[_T]:
    for row in rows:
        progress.done += 1
        if progress.done % PAGE == 0:
            progress.advance(0)
        yield row


def _write(path: Path, lines: Iterator[str], out: Output, total: int) -> int:
    """Write to a temporary file and rename it, so that a file that is there is complete."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("w") as file, out.progress("exporting", total) as progress:
            for line in lines:
                file.write(f"{line}\n")
                progress.done += 1
                if progress.done % PAGE == 0:
                    progress.advance(0)
            written = progress.done
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    return written
