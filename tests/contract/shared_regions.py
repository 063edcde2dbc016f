"""Regions that several nodes share, to try the same things on each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from forewarn.core.looking.subjects import subject_of
from forewarn.plane.ports import Entry, Journal, JournalFault, Node, Shared
from forewarn.stores.postgres.address import PATIENCE, ServerPatience
from forewarn.stores.postgres.journal import PostgresJournal, describe
from forewarn.stores.postgres.snapshots import PART_BYTES
from forewarn.stores.shared_memory import MemoryNodeJournal, SharedMemory
from tests.postgres import Server

LONG = 600.0  # seconds that no test waits: it would be ended before
EVERYTHING = 1_000_000  # records: more than any test writes
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class NodeJournal(Journal, Protocol):
    """A journal that is known to be shared."""

    @property
    def shared(self) -> Shared: ...


class SharedRegion(Protocol):
    """A store, its nodes, and its time."""

    def join(self) -> NodeJournal: ...

    def let_pass(self, seconds: float) -> None:
        """Every claim and every sign of life is so much older."""

    def close(self) -> None: ...


class InMemory:
    def __init__(self) -> None:
        self._now = START
        self.region = SharedMemory(lambda: self._now)
        self._joined: list[MemoryNodeJournal] = []

    def join(self) -> NodeJournal:
        self._joined.append(self.region.join())
        return self._joined[-1]

    def let_pass(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    def close(self) -> None:
        for journal in self._joined:
            journal.close()


class InPostgres:
    def __init__(self, server: Server, patience: ServerPatience = PATIENCE) -> None:
        self.server, self._patience = server, patience
        self.url = server.region()
        self.schema = self.url.rpartition("%3D")[2]
        self.shown = describe(self.url)
        self._joined: list[PostgresJournal] = []

    def join(self, part_bytes: int = PART_BYTES) -> PostgresJournal:
        self._joined.append(PostgresJournal(self.url, self._patience, part_bytes))
        return self._joined[-1]

    def let_pass(self, seconds: float) -> None:
        self.execute(f"UPDATE lead SET until = until - interval '{seconds} seconds'")
        self.execute(f"UPDATE nodes SET seen_at = seen_at - interval '{seconds} seconds'")

    def execute(self, query: str, *values: object) -> list[tuple[object, ...]]:
        return self.server.execute(query, *values, schema=self.schema)

    def close(self) -> None:
        for journal in self._joined:
            journal.close()


def _in_memory(_: pytest.FixtureRequest) -> SharedRegion:
    return InMemory()


def _in_postgres(request: pytest.FixtureRequest) -> SharedRegion:
    return InPostgres(request.getfixturevalue("postgres"))


SHARED: dict[str, Callable[[pytest.FixtureRequest], SharedRegion]] = {
    "shared-memory": _in_memory,
    "postgres": _in_postgres,
}


def append(journal: Journal, new: list[Entry]) -> None:
    with journal.write() as transaction:
        transaction.append(new)


def node(name: str, **told: object) -> Node:
    whole = {
        "id": f"id of {name}",
        "name": name,
        "version": "1.2.3",
        "faces": ("metadata", "control"),
        "urls": (f"http://{name}:8080",),
        "rules": "0123abcd",
        "started_at": START,
        "seen_at": START,
        "seq": 7,
        "leads": False,
        "draining": False,
        **told,
    }
    return Node(**whole)  # type: ignore[arg-type]  # fields by name


def impatient(**seconds: float) -> pytest.MarkDecorator:
    """For a test whose nodes give up sooner."""
    return pytest.mark.parametrize("patience", [ServerPatience(**seconds)], ids=["impatient"])


def refusal(url: str) -> str:
    with pytest.raises(JournalFault) as refused:
        PostgresJournal(url)
    return str(refused.value)


def names_in(region: InPostgres) -> list[str]:
    return [subject_of(record.fact).removeprefix("vm/") for record in region.join().read(0, EVERYTHING)]
