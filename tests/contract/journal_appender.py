"""Appends to a journal until it is killed, and says of each block when it is durable. Run by ``test_journal_kill``.

Block ``n`` holds between one and seven facts, all named after it, so that half a block or a doubled one shows.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from forewarn.core.facts import VmDeleted
from forewarn.core.region import Region
from forewarn.plane.ports import Entry, Journal, Origin
from forewarn.stores.postgres.journal import PostgresJournal
from forewarn.stores.sqlite.journal import SqliteJournal


def block(number: int) -> list[Entry]:
    names = [f"{number}/{part}" for part in range(number % 7 + 1)]
    return [Entry(VmDeleted(datetime(2026, 1, 1, tzinfo=UTC), name), "DeleteVms", Origin("test")) for name in names]


def opened(place: str) -> Journal:
    return PostgresJournal(place) if place.startswith("postgresql:") else SqliteJournal(Path(place))


def main(place: str, number: int) -> None:
    journal = opened(place)
    print("ready", flush=True)
    while True:
        with journal.write() as transaction:
            transaction.append(block(number))
        print(number, flush=True)
        if number % 5 == 0:
            journal.snapshot(Region(lone_vms_made=number), journal.head())
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
