"""What others wrote is data to a database, and never a part of a statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.core.region import Region
from forewarn.plane.ports import Entry, Journal, Origin
from forewarn.stores.postgres.journal import PostgresJournal
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.postgres import Server
from tests.unit.stores.examples import entries

HOSTILE = [
    "'; DROP TABLE facts; --",
    "' OR '1'='1",
    '"',
    "\\",
    "%s",
    "%(seq)s",
    "$1",
    "{0}",
    "\x00",
    "a\nb",
    "é𝄞",
]


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "sqlite":
        made: Journal = SqliteJournal(tmp_path / "data")
    else:
        server: Server = request.getfixturevalue("postgres")
        made = PostgresJournal(server.region())
    yield made
    made.close()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_subject_that_looks_like_sql_is_only_looked_for(journal: Journal, text: str) -> None:
    with journal.write() as transaction:
        transaction.append(entries(2))
    assert journal.about(text, 10) == []
    assert journal.head() == 2


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.isprintable()])
def test_a_callers_name_that_looks_like_sql_is_written_down_as_it_is(journal: Journal, text: str) -> None:
    (entry,) = entries(1)
    with journal.write() as transaction:
        transaction.append([Entry(entry.fact, text, Origin(text, text, text))])
    (record,) = journal.read(0, 10)
    assert (record.command, record.origin) == (text, Origin(text, text, text))
    assert list(journal.verify()) == []
    assert isinstance(journal.load()[0], Region)
