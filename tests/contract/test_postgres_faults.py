"""The server goes away, stands still, loses what it had, or says no: each is told apart, and none costs a record."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from forewarn.core.facts import subject_of
from forewarn.core.region import Region
from forewarn.plane.ports import Diverged, JournalFault, Uncertain
from forewarn.stores.postgres.address import PATIENCE, ConnectionString, ServerPatience
from forewarn.stores.postgres.connections import connect
from forewarn.stores.postgres.journal import PostgresJournal, describe, prepare
from tests.contract.lossy import Break, Lossy
from tests.contract.shared_regions import LONG, InPostgres, append, node
from tests.postgres import PASSWORD, Server
from tests.unit.stores.examples import entries
from tests.waiting import until

EVERYTHING = 1_000_000


@pytest.fixture
def patience() -> ServerPatience:
    """Of the nodes in a test; one that wants another is parametrized with it."""
    return PATIENCE


def impatient(**seconds: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("patience", [ServerPatience(**seconds)], ids=["impatient"])


@pytest.fixture
def region(postgres: Server, patience: ServerPatience) -> Iterator[InPostgres]:
    made = InPostgres(postgres, patience)
    yield made
    made.close()


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


def _names(region: InPostgres) -> list[str]:
    return [subject_of(record.fact).removeprefix("vm/") for record in region.join().read(0, EVERYTHING)]


# A commit whose answer does not come


@pytest.mark.parametrize("count", [1, 1000])
def test_a_commit_whose_answer_got_lost_was_done(
    journal: PostgresJournal, region: InPostgres, wire: Lossy, count: int
) -> None:
    wire.breaks = Break.AFTER
    append(journal, entries(count, "unheard"))
    append(journal, entries(1, "next"))
    assert _names(region) == ["vm-0", "vm-1", *(f"unheard-{n}" for n in range(count)), "next-0"]


@pytest.mark.parametrize("count", [1, 1000])
def test_a_commit_that_never_reached_the_server_was_not_done(
    journal: PostgresJournal, region: InPostgres, wire: Lossy, count: int
) -> None:
    wire.breaks = Break.BEFORE
    with pytest.raises(JournalFault) as refused:
        append(journal, entries(count, "lost"))
    assert not isinstance(refused.value, Uncertain)
    append(journal, entries(1, "next"))
    assert _names(region) == ["vm-0", "vm-1", "next-0"]


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
    assert _names(region) == ["vm-0", "vm-1", "who knows-0", "who knows-1", "next-0"]


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
    assert _names(region) == ["vm-0", "vm-1", "waiting-0", "next-0"]


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
    assert _names(region) == ["vm-0", "vm-1", "next-0"]


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
        assert _names(region) == ["vm-0", "vm-1", "next-0"]
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
    assert _names(region) == ["vm-0", "vm-1", "next-0"]


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


def test_what_the_address_says_wins_but_a_commit_is_always_on_disk(region: InPostgres) -> None:
    options = f"-csearch_path={region.schema} --statement-timeout=7s -c lock_timeout=8s -csynchronous_commit=off"
    address = ConnectionString(region.server.url(options=options, connect_timeout="3", application_name="mine"))
    with connect(address) as connection:
        shown = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in SETTINGS]
    assert dict(zip(SETTINGS, shown, strict=True)) == {name: (value,) for name, value in SETTINGS.items()}
    assert address.parameters["connect_timeout"] == "3"


SETTINGS = {
    "statement_timeout": "7s",
    "lock_timeout": "8s",
    "idle_in_transaction_session_timeout": "30s",
    "synchronous_commit": "on",
    "application_name": "mine",
    "client_connection_check_interval": "2s",
    "tcp_keepalives_idle": "5",
}


def test_a_stricter_synchronous_commit_of_the_address_is_left_as_it_is(region: InPostgres) -> None:
    url = region.server.url(options=f"-csearch_path={region.schema} -csynchronous_commit=remote_apply")
    with connect(ConnectionString(url)) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)


# Lost history


def _forget(region: InPostgres, last: int) -> None:
    """As a standby does that takes over without the records after ``last``."""
    chain = region.execute("SELECT chain FROM facts WHERE seq = %s", last)[0][0]
    region.execute("DELETE FROM facts WHERE seq > %s", last)
    region.execute("UPDATE head SET seq = %s, chain = %s", last, chain)


def _write_since(journal: PostgresJournal) -> None:
    with journal.write() as transaction:
        transaction.since(5)
        transaction.append(entries(1))


LOOKS: dict[str, Callable[[PostgresJournal], object]] = {
    "a block": _write_since,
    "catching up": lambda journal: journal.read(5, EVERYTHING),
    "the head": lambda journal: journal.head(),
    "news": lambda journal: journal.shared.await_news(5, LONG, willing=True),
}


def _write(journal: PostgresJournal, _: InPostgres) -> None:
    append(journal, entries(5))


def _read(journal: PostgresJournal, region: InPostgres) -> None:
    append(region.join(), entries(5))
    journal.read(0, EVERYTHING)


def _be_handed(journal: PostgresJournal, region: InPostgres) -> None:
    append(region.join(), entries(5))
    with journal.write() as transaction:
        transaction.since(0)


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("how", [_write, _read, _be_handed])
def test_a_journal_that_lost_what_this_node_has_seen_is_found_out(
    region: InPostgres,
    how: Callable[[PostgresJournal, InPostgres], None],
    look: Callable[[PostgresJournal], object],
) -> None:
    journal = region.join()
    how(journal, region)
    _forget(region, 3)
    with pytest.raises(Diverged, match=r"it ends at record 3, and record 5 was there\. Start this node anew"):
        look(journal)
    assert region.join().head() == 3


@pytest.mark.parametrize("look", [LOOKS["a block"], LOOKS["catching up"]], ids=["a block", "catching up"])
@pytest.mark.parametrize("written_anew", [2, 3, 9])
def test_a_journal_that_replaced_what_this_node_has_seen_is_found_out(
    region: InPostgres, written_anew: int, look: Callable[[PostgresJournal], object]
) -> None:
    journal = region.join()
    append(journal, entries(5))
    _forget(region, 3)
    append(region.join(), entries(written_anew, "other"))
    with pytest.raises(Diverged, match="holds another record 5 than the one that this node has seen"):
        look(journal)
    assert list(region.join().verify()) == []


def test_after_reading_later_records_of_a_replaced_journal_the_replacement_is_still_found_out(
    region: InPostgres,
) -> None:
    journal = region.join()
    append(journal, entries(5))
    _forget(region, 3)
    append(region.join(), entries(9, "other"))
    journal.read(6, EVERYTHING)
    with pytest.raises(Diverged, match="holds another record 5"):
        journal.read(5, EVERYTHING)


def test_what_was_lost_is_not_kept_in_a_snapshot(region: InPostgres) -> None:
    journal = region.join()
    append(journal, entries(5))
    _forget(region, 3)
    append(region.join(), entries(9, "other"))
    with pytest.raises(Diverged, match="holds another record 5"):
        journal.snapshot(Region(), 5)
    assert region.join().load() == (Region(), 0)


def test_an_editor_whose_connection_was_ended_can_tell(region: InPostgres) -> None:
    journal = region.join()
    with journal.shared.editing() as holds:
        assert holds()
        region.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        until(lambda: not holds())


def test_a_node_that_starts_anew_goes_on_with_what_there_is(region: InPostgres) -> None:
    append(region.join(), entries(5))
    _forget(region, 3)
    journal = region.join()
    assert len(journal.read(0, EVERYTHING)) == 3
    append(journal, entries(1, "next"))
    assert journal.head() == 4


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
    assert _names(region) == ["vm-0", "vm-1", "next-0"]


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


WRONG = {
    "another password": ("{user}:s3cret%2Fof%20us%25@{host}/postgres", "does not let us in. Check user and password"),
    "another user": ("nobody:s3cret%2Fof%20us%25@{host}/postgres", "does not let us in. Check user and password"),
    "another database": ("{user}:{password}@{host}/missing", "the server has no database of that name"),
    "another port": ("u:s3cret%2Fof%20us%25@127.0.0.1:1/postgres", "cannot be reached. Check that the server runs"),
    "two hosts that are not there": ("u:s3cret%2Fof%20us%25@127.0.0.1:1,127.0.0.1:2/db", "cannot be reached."),
    "another host": ("u:s3cret%2Fof%20us%25@no-such-host.invalid/db", "cannot be found. Check the host's name"),
    "encryption": ("{user}:{password}@{host}/postgres?sslmode=require", "cannot be reached with the encryption"),
    "a bare percent sign": ("u:s3cret/of us%@{host}/db", "is not a PostgreSQL connection string"),
    "a bad escape": ("u:s3cret%zz@{host}/db", "in the password, every character that is not a letter or a digit"),
    "a space": ("u:s3cret of@{host}/db", "is not a PostgreSQL connection string"),
    "an unknown parameter": ("u:s3cret@{host}/db?s3cret=1", "is not a PostgreSQL connection string"),
}


@pytest.mark.parametrize(("url", "said"), WRONG.values(), ids=WRONG)
def test_an_address_that_does_not_work_is_told_without_its_password(postgres: Server, url: str, said: str) -> None:
    good = postgres.url()
    filled = url.format(user="postgres", password=good.split(":")[2].split("@")[0], host=f"127.0.0.1:{postgres.port}")
    with pytest.raises(JournalFault) as refused:
        PostgresJournal(f"postgresql://{filled}")
    whole = "".join(traceback.format_exception(refused.value))
    assert said in str(refused.value)
    assert not any(secret in whole for secret in ("s3cret", PASSWORD, good.split(":")[2].split("@")[0]))


@pytest.mark.parametrize(
    ("conninfo", "shown"),
    [
        ("postgresql://ann:pw@db.example:5433/shop", "postgresql://ann@db.example:5433/shop"),
        ("postgresql://ann:pw@a:1,b:2/shop?sslmode=require", "postgresql://ann@a:1,b:2/shop"),
        ("host=a,b port=5433 password=pw dbname=shop", "postgresql://a:5433,b:5433/shop"),
        ("host=/run/postgresql dbname=shop password=pw", "postgresql:///run/postgresql/shop"),
        ("postgresql://ann:pw@a/shop?options=-csearch_path%3Deast", "postgresql://ann@a/shop (schema east)"),
        ("postgresql:///shop?password=pw&sslpassword=pw", "postgresql:///shop"),
    ],
)
def test_an_address_is_shown_without_its_password(conninfo: str, shown: str) -> None:
    assert describe(conninfo) == shown


def test_an_error_message_that_quotes_the_password_is_shown_without_it() -> None:
    address = ConnectionString("postgresql://ann:p%2Fw%20d@db/shop?sslpassword=other")
    assert address.without_secrets('said "p/w d", p%2Fw%20d and other') == 'said "***", *** and ***'


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
    assert _names(region) == [*(f"before-{number}-0" for number in range(before)), "after-0"]
