"""The server goes away, stands still, or says no: each is told apart, and none costs a record."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from forewarn.plane.ports import JournalFault
from forewarn.stores.postgres.journal import PostgresJournal
from tests.contract.shared_regions import EVERYTHING, LONG, InPostgres, append, impatient, names_in, node
from tests.postgres import Server
from tests.unit.stores.examples import entries
from tests.waiting import until

# Connections that die


def test_a_connection_that_is_ended_in_the_middle_of_a_block_leaves_nothing(region: InPostgres) -> None:
    journal = region.join()
    append(journal, entries(2))

    def write() -> None:
        with journal.write() as transaction:
            transaction.append(entries(3, "lost"))
            _end_connections(region, "idle in transaction")

    with pytest.raises(JournalFault, match="went away: the server stopped, or something ended our connection"):
        write()
    append(journal, entries(1, "next"))
    assert names_in(region) == ["vm-0", "vm-1", "next-0"]


def test_connections_that_died_while_idle_are_replaced_without_an_error(region: InPostgres) -> None:
    journal = region.join()
    append(journal, entries(2))
    _end_connections(region, "idle")
    append(journal, entries(1, "next"))
    _end_connections(region, "idle")
    assert journal.head() == 3
    assert len(journal.read(0, EVERYTHING)) == 3
    with journal.shared.editing():
        journal.shared.announce(node("a"))


def test_a_leader_whose_connection_is_ended_hears_of_it_and_the_next_one_leads(region: InPostgres) -> None:
    one, two = region.join(), region.join()
    assert one.shared.await_news(0, 0, willing=True).leads
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(one.shared.await_news, 0, LONG, willing=True)
        _end_connections(region, "idle")
        with pytest.raises(JournalFault, match="went away"):
            waiting.result()
    assert two.shared.await_news(0, 0, willing=True).leads
    assert not one.shared.await_news(0, 0, willing=True).leads


def test_a_notification_that_was_missed_is_made_good_by_a_glance(region: InPostgres) -> None:
    one, two = region.join(), region.join()
    two.shared.await_news(0, 0, willing=False)
    one._writer._channel = "where_nobody_listens"
    append(one, entries(1))
    assert two.shared.await_news(0, LONG, willing=False).head == 1
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(two.shared.await_news, 1, 0.5, willing=False)
        append(one, entries(1))
        assert waiting.result().head == 2


@pytest.mark.slow
def test_a_server_that_was_killed_and_came_back_has_lost_nothing() -> None:
    with Server() as server:
        region = InPostgres(server)
        journal = region.join()
        append(journal, entries(2))
        assert journal.shared.await_news(0, 0, willing=True).leads
        server.kill()
        for call in (journal.head, lambda: append(journal, entries(1)), lambda: journal.read(0, 1)):
            with pytest.raises(JournalFault, match=r"cannot be reached\. Check that the server runs"):
                call()
        with pytest.raises(JournalFault):
            journal.shared.await_news(0, LONG, willing=True)
        server.start()
        append(journal, entries(1, "next"))
        assert names_in(region) == ["vm-0", "vm-1", "next-0"]
        assert journal.shared.await_news(0, 0, willing=True).leads
        assert list(journal.verify()) == []
        region.close()


@impatient(silence_seconds=0.5)
def test_a_database_that_stands_still_keeps_no_caller_waiting_for_ever(region: InPostgres) -> None:
    journal = region.join()
    append(journal, entries(2))
    journal.shared.await_news(0, 0, willing=True)
    region.server.freeze()
    try:
        for call in (journal.head, lambda: append(journal, entries(1)), lambda: _news(journal)):
            with pytest.raises(JournalFault, match=r"no answer for 0\.5 seconds"):
                call()
    finally:
        region.server.thaw()
    append(journal, entries(1, "next"))
    assert names_in(region) == ["vm-0", "vm-1", "next-0"]


@pytest.mark.slow
@impatient(silence_seconds=0.5)
def test_waiting_for_news_may_last_longer_than_the_limit_of_an_answer(region: InPostgres) -> None:
    assert region.join().shared.await_news(0, 1.2, willing=False).head == 0


def _news(journal: PostgresJournal) -> None:
    journal.shared.await_news(0, 0, willing=True)


# Waiting for each other


def _impatiently(region: InPostgres) -> PostgresJournal:
    return PostgresJournal(region.server.url(options=f"-csearch_path={region.schema} -clock_timeout=100ms"))


def test_a_node_that_holds_the_head_for_too_long_does_not_block_others_for_ever(region: InPostgres) -> None:
    one, two = region.join(), _impatiently(region)
    with one.write() as transaction:
        transaction.append(entries(1))
        with pytest.raises(JournalFault, match=r"is held by another node, .* Nothing was changed; try again"):
            append(two, entries(1))
        assert two.head() == 0
    append(two, entries(1))
    assert two.head() == 2
    two.close()


def test_a_node_that_holds_the_editing_lock_for_too_long_does_not_block_others_for_ever(region: InPostgres) -> None:
    one, two = region.join(), _impatiently(region)

    def edit() -> None:
        with two.shared.editing():
            pass

    with one.shared.editing(), pytest.raises(JournalFault, match="is held by another node"):
        edit()
    edit()
    two.close()


def test_an_editor_whose_connection_was_ended_can_tell(region: InPostgres) -> None:
    journal = region.join()
    with journal.shared.editing() as holds:
        assert holds()
        region.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        until(lambda: not holds())


# A server that says no

CONDITIONS = {
    "53100": "because the server's disk is full. Nothing was changed; free some space there",
    "53200": "has no memory left for us. Nothing was changed; try again",
    "58030": "could not be read or written. Nothing was changed; check the server's disk and log",
    "40P01": "could not agree with another transaction. Nothing was changed; try again",
    "XX001": "is damaged, or the server is. It was not touched; look into the server's log",
    "P0001": "could not be used. Nothing was changed",
}


@pytest.mark.parametrize(("code", "said"), CONDITIONS.items(), ids=CONDITIONS)
@pytest.mark.parametrize("count", [1, 1000])
def test_an_error_of_the_server_is_told_and_changes_nothing(
    region: InPostgres, code: str, said: str, count: int
) -> None:
    journal = region.join()
    append(journal, entries(2))
    region.execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '{code}'; END$$"
    )
    region.execute("CREATE TRIGGER fails BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION fail()")
    with pytest.raises(JournalFault) as refused:
        append(journal, entries(count, "lost"))
    assert said in str(refused.value)
    assert str(refused.value).endswith(".)")
    region.execute("DROP TRIGGER fails ON facts")
    append(journal, entries(1, "next"))
    assert names_in(region) == ["vm-0", "vm-1", "next-0"]


def test_a_database_that_may_only_be_read_is_refused(postgres: Server) -> None:
    name = postgres.database()
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(JournalFault, match="may only be read: it is a standby"):
        PostgresJournal(postgres.url(name))


@pytest.mark.slow
def test_a_server_without_a_free_connection_says_so() -> None:
    with Server(settings={"max_connections": "4", "superuser_reserved_connections": "0"}) as server:
        held = [psycopg.connect(server.url()) for _ in range(4)]
        with pytest.raises(JournalFault, match="has no connection left for us"):
            PostgresJournal(server.url())
        for connection in held:
            connection.close()


# Helpers


def _end_connections(region: InPostgres, state: str) -> None:
    """End those of this region's sessions that are in a state, and wait until they are gone."""
    found = (
        "FROM pg_stat_activity WHERE application_name = 'forewarn' AND state = %s AND pid <> pg_backend_pid() "
        "AND pid IN (SELECT pid FROM pg_stat_activity WHERE query <> '')"
    )
    until(lambda: bool(region.execute(f"SELECT pid {found}", state)))
    region.execute(f"SELECT pg_terminate_backend(pid) {found}", state)
    until(lambda: not region.execute(f"SELECT pid {found}", state))


@pytest.mark.parametrize("before", range(8))
def test_a_write_that_the_server_refused_does_not_spoil_later_ones(region: InPostgres, before: int) -> None:
    """Found by the loss tests on a full disk: refused at the write at which its statements would have been prepared."""
    journal = region.join()
    for number in range(before):
        append(journal, entries(1, f"before-{number}"))
    region.execute("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE disk_full; END$$")
    region.execute("CREATE TRIGGER fails BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION fail()")
    for _ in range(2):
        with pytest.raises(JournalFault):
            append(journal, entries(1, "lost"))
    region.execute("DROP TRIGGER fails ON facts")
    append(journal, entries(1, "after"))
    assert names_in(region) == [*(f"before-{number}-0" for number in range(before)), "after-0"]
