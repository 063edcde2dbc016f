"""Errors that come without a code, because nobody was there to give one."""

from __future__ import annotations

import psycopg
import pytest

from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.errors import fault

ADDRESS = ConnectionString("postgresql://ann:pass@db.example/shop")
SAID = {
    "connection failed: FATAL:  the database system is starting up": "cannot be used right now: the server is starting",
    "FATAL:  the database system is not yet accepting connections": "cannot be used right now: the server is starting",
    "FATAL:  the database system is shutting down": "cannot be used right now: the server is starting",
    "FATAL:  the database system is in recovery mode": "cannot be used right now: the server is starting",
    "cannot exit pipeline mode while busy": "went away: the server stopped",
    "consuming input failed: SSL connection has been closed unexpectedly": "went away: the server stopped",
    "consuming input failed: could not receive data: Connection reset by peer": "went away: the server stopped",
    'FATAL:  no pg_hba.conf entry for host "10.0.0.9", user "ann"': "does not let us in",
    "fe_sendauth: no password supplied": "does not let us in",
    "FATAL:  remaining connection slots are reserved": "has no connection left for us",
    "connection timeout expired": "cannot be reached. Check that the server runs",
    "connection failed: No route to host": "cannot be reached. Check that the server runs",
}


@pytest.mark.parametrize(("words", "meaning"), SAID.items())
def test_an_error_of_postgresql_is_told_with_what_it_means(words: str, meaning: str) -> None:
    told = str(fault(ADDRESS, psycopg.OperationalError(words)))
    assert told.startswith(f"The journal postgresql://ann@db.example/shop {meaning}")
    assert told.endswith(f"(PostgreSQL says: {' '.join(words.split())}.)")


def test_an_error_on_many_lines_with_a_secret_is_told_on_one_without_it() -> None:
    told = str(fault(ADDRESS, psycopg.OperationalError("first pass\n\tsecond pass.\n")))
    assert told.endswith("(PostgreSQL says: first *** second ***.)")
