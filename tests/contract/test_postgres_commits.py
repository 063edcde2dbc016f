"""A commit whose answer does not come: it was done, it was not done, or that is uncertain; each is told apart."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from forewarn.plane.ports import JournalFault, Uncertain
from forewarn.stores.postgres.address import ServerPatience
from forewarn.stores.postgres.journal import PostgresJournal, prepare
from tests.contract.lossy import Break, Lossy
from tests.contract.shared_regions import InPostgres, append, impatient, names_in
from tests.postgres import Server
from tests.unit.stores.examples import entries
from tests.waiting import until


@pytest.fixture
def wire(postgres: Server) -> Iterator[Lossy]:
    with Lossy(postgres.port) as made:
        yield made


@pytest.fixture
def journal(region: InPostgres, wire: Lossy, patience: ServerPatience) -> Iterator[PostgresJournal]:
    """One that reaches the region over the wire, and has written two records."""
    prepare(region.url)
    made = PostgresJournal(region.server.url(schema=region.schema, port=wire.port), patience)
    append(made, entries(2))
    yield made
    made.close()


@pytest.mark.parametrize("count", [1, 1000])
def test_a_commit_whose_answer_got_lost_was_done(
    journal: PostgresJournal, region: InPostgres, wire: Lossy, count: int
) -> None:
    wire.breaks = Break.AFTER
    append(journal, entries(count, "unheard"))
    append(journal, entries(1, "next"))
    assert names_in(region) == ["vm-0", "vm-1", *(f"unheard-{n}" for n in range(count)), "next-0"]


@pytest.mark.parametrize("count", [1, 1000])
def test_a_commit_that_never_reached_the_server_was_not_done(
    journal: PostgresJournal, region: InPostgres, wire: Lossy, count: int
) -> None:
    wire.breaks = Break.BEFORE
    with pytest.raises(JournalFault) as refused:
        append(journal, entries(count, "lost"))
    assert not isinstance(refused.value, Uncertain)
    append(journal, entries(1, "next"))
    assert names_in(region) == ["vm-0", "vm-1", "next-0"]


@impatient(finding_out_seconds=0.3)
def test_a_commit_whose_outcome_cannot_be_asked_for_is_uncertain(
    journal: PostgresJournal, region: InPostgres, wire: Lossy
) -> None:
    wire.breaks = Break.AFTER_FOR_GOOD
    with pytest.raises(Uncertain, match="the facts are there, or they are not, but never half of them"):
        append(journal, entries(2, "who knows"))
    with pytest.raises(JournalFault, match="went away"):
        journal.head()
    wire.heal()
    with journal.write() as transaction:
        assert [record.seq for record in transaction.since(2)] == [3, 4]
        transaction.append(entries(1, "next"))
    assert names_in(region) == ["vm-0", "vm-1", "who knows-0", "who knows-1", "next-0"]


def _standbys(server: Server, names: str) -> None:
    """At each commit, wait for one of these."""
    server.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    server.execute("SELECT pg_reload_conf()")
    until(lambda: server.execute("SHOW synchronous_standby_names") == [(names,)])


@pytest.fixture
def _no_standby_comes(journal: PostgresJournal, postgres: Server) -> Iterator[None]:
    assert journal.head() == 2
    _standbys(postgres, "nobody")
    yield
    _standbys(postgres, "")


@impatient(finding_out_seconds=0.5)
@pytest.mark.usefixtures("_no_standby_comes")
def test_a_commit_that_waits_for_its_standby_is_not_taken_for_one_that_was_not_done(
    journal: PostgresJournal, region: InPostgres, wire: Lossy
) -> None:
    wire.breaks = Break.AFTER
    with pytest.raises(Uncertain):
        append(journal, entries(1, "waiting"))
    assert journal.head() == 2
    _standbys(region.server, "")
    until(lambda: journal.head() == 3)
    append(journal, entries(1, "next"))
    assert names_in(region) == ["vm-0", "vm-1", "waiting-0", "next-0"]


@pytest.mark.usefixtures("_no_standby_comes")
def test_a_commit_that_was_canceled_while_it_waited_for_its_standby_is_uncertain(
    journal: PostgresJournal, postgres: Server
) -> None:
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(append, journal, entries(1))
        query = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        until(lambda: bool(postgres.execute(query)))
        with pytest.raises(Uncertain, match="may not outlive a failover"):
            writing.result()
    assert journal.head() == 3


@impatient(finding_out_seconds=0.3, silence_seconds=2.0)
@pytest.mark.usefixtures("_no_standby_comes")
def test_a_commit_whose_connection_was_ended_while_it_waited_for_its_standby_is_uncertain(
    journal: PostgresJournal, postgres: Server
) -> None:
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(append, journal, entries(1))
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        until(lambda: bool(postgres.execute(query)))
        with pytest.raises(Uncertain):  # it is there, but only on this server
            writing.result()
    assert journal.head() == 3


def test_a_warning_of_a_trigger_is_not_taken_for_a_standby_that_is_away(region: InPostgres) -> None:
    region.join()
    region.execute(
        "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'hm'; RETURN NEW; END$$"
    )
    region.execute("CREATE TRIGGER warns BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION warn()")
    append(region.join(), entries(2))
    assert region.join().head() == 2
