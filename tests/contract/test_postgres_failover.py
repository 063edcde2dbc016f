"""A real standby takes over from a real primary that was killed. With synchronous replication nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forewarn.plane.ports import Diverged
from forewarn.stores.postgres.journal import PostgresJournal
from tests.contract.shared_regions import EVERYTHING, append
from tests.postgres import Server
from tests.unit.stores.examples import entries
from tests.waiting import until


@pytest.fixture
def primary() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def standby(primary: Server) -> Iterator[Server]:
    with primary.standby() as server:
        until(lambda: bool(primary.execute("SELECT FROM pg_stat_replication WHERE state = 'streaming'")))
        yield server


@pytest.fixture
def journal(primary: Server, standby: Server) -> Iterator[PostgresJournal]:
    """One whose address names both, and who has seen two records."""
    made = PostgresJournal(_both(standby, primary))
    append(made, entries(2))
    yield made
    made.close()


def _both(first: Server, second: Server) -> str:
    """The one that takes writes is found, wherever it stands."""
    return first.url().replace(f":{first.port}/", f":{first.port},127.0.0.1:{second.port}/")


@pytest.mark.slow
def test_with_synchronous_replication_nothing_is_lost_when_the_standby_takes_over(
    journal: PostgresJournal, primary: Server, standby: Server
) -> None:
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.execute("SELECT pg_reload_conf()")
    until(lambda: bool(primary.execute("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")))
    for _ in range(20):
        append(journal, entries(1, "acknowledged"))
    assert journal.shared.await_news(0, 0, willing=True).leads
    primary.kill()
    standby.promote()
    append(journal, entries(1, "next"))
    assert [record.seq for record in journal.read(0, EVERYTHING)] == list(range(1, 24))
    assert list(journal.verify()) == []


@pytest.mark.slow
def test_a_standby_that_takes_over_without_the_last_records_is_found_out(
    journal: PostgresJournal, primary: Server, standby: Server
) -> None:
    ((written,),) = primary.execute("SELECT pg_current_wal_lsn()::text")
    until(lambda: standby.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written) == [(True,)])
    standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
    standby.execute("SELECT pg_reload_conf()")
    until(lambda: not standby.execute("SELECT FROM pg_stat_wal_receiver"))
    append(journal, entries(3, "lost"))
    primary.kill()
    standby.promote()
    with pytest.raises(Diverged, match="it ends at record 2, and record 5 was there"):
        append(journal, entries(1))
    anew = PostgresJournal(_both(primary, standby))
    append(anew, entries(1, "next"))
    assert anew.head() == 3
    assert list(anew.verify()) == []
    anew.close()
