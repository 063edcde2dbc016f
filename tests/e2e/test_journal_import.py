"""From a data directory to PostgreSQL: the same region, record for record, all of it or nothing."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from forewarn.cli.api.client import OperatorClient, Server
from forewarn.core.facts import VmDeleted
from forewarn.plane.ports import Entry, Origin
from forewarn.stores.rows import COLUMNS, Row
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.contract.lossy import Break, Lossy
from tests.e2e.program import EVENTS, FOREWARN, ServerProgram, ask, clean_environment, run
from tests.postgres import Server as Postgres
from tests.waiting import until

KINDS = ("--resource-manager", "off")
BEFORE = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with 400 records, some of which hold what PostgreSQL's text cannot."""
    journal = SqliteJournal(tmp_path / "data")
    whos = ["plain", "C:\\temp\\0", "with a \0 in it", "Käthe"]
    with journal.write() as transaction:
        transaction.append(
            [Entry(VmDeleted(BEFORE, f"vm-{n}"), "DeleteVms", Origin("operator", whos[n % 4], "r")) for n in range(400)]
        )
    journal.close()
    return tmp_path / "data"


def bring(data: Path, store: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    env = clean_environment(FOREWARN_STORE=store)
    return run("journal", "import", "--data", data, status=status, env=env)


def rows_in_sqlite(data: Path) -> list[Row]:
    connection = sqlite3.connect(data / "journal.sqlite3")
    rows: list[Row] = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM facts ORDER BY seq").fetchall()
    connection.close()
    return rows


def rows_in(store: str) -> list[Row]:
    with psycopg.connect(store) as connection:
        found = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM facts ORDER BY seq".encode()).fetchall()
    return [(*row[:3], *(_plain(text) for text in row[3:8]), *row[8:]) for row in found]


def _plain(text: str) -> str:
    """As docs/postgresql.md says: a NUL is written as backslash and 0, a backslash as two."""
    return "\\".join(part.replace("\\0", "\0") for part in text.split("\\\\"))


def head_of(store: str) -> tuple[int, bytes]:
    with psycopg.connect(store) as connection:
        ((seq, chain),) = connection.execute("SELECT seq, chain FROM head").fetchall()
    return seq, chain


def test_every_record_is_there_to_the_letter_and_follows_the_one_before(data: Path, postgres: Postgres) -> None:
    store = postgres.region()
    before = {path.name: path.read_bytes() for path in data.iterdir() if path.name != "lock"}
    told = bring(data, store).stdout

    wanted = rows_in_sqlite(data)
    assert rows_in(store) == wanted
    assert head_of(store) == (400, wanted[-1][9])
    assert "400 records" in told
    assert before == {path.name: path.read_bytes() for path in data.iterdir() if path.name != "lock"}


def test_the_region_goes_on_from_the_database_with_the_same_documents(tmp_path: Path, postgres: Postgres) -> None:
    data, store = tmp_path / "data", postgres.region()
    with ServerProgram.start(data, *KINDS) as server:
        client = OperatorClient(Server(server.control))
        client.server.ask("POST", "/v1/vms", body={"name": "web", "count": 2, "availability_set": "front"})
        ask(server.metadata, f"/vm/web-0{EVENTS}")
        client.server.ask("POST", "/v1/vms/restart", body={"names": ["web-0"]})
        document, head = ask(server.metadata, f"/vm/web-0{EVENTS}").document, client.ping()["seq"]
        refused = bring(data, store, status=1).stderr
        assert "is in use by process" in refused
    assert document["Events"]
    bring(data, store)
    (tmp_path / "beside").mkdir()
    env = clean_environment(FOREWARN_STORE=store)
    with ServerProgram.start(tmp_path / "beside", *KINDS, env=env) as server:
        client = OperatorClient(Server(server.control))
        assert ask(server.metadata, f"/vm/web-1{EVENTS}").document == document
        assert client.ping()["seq"] == head
        assert client.verify()["faults"] == []
        client.server.ask("POST", "/v1/vms", body={"name": "later"})
        assert client.verify()["faults"] == []
        refused = bring(data, store, status=1).stderr
        assert "holds a region already" in refused


def test_once_more_is_no_mistake_and_changes_nothing(data: Path, postgres: Postgres) -> None:
    store = postgres.region()
    bring(data, store)
    env = clean_environment(FOREWARN_STORE=store)
    told = json.loads(run("journal", "import", "--data", data, "--json", env=env).stdout)
    assert (told["records"], told["imported"]) == (400, False)
    assert len(rows_in(store)) == 400


def test_a_database_that_holds_anything_else_is_left_as_it_is(data: Path, tmp_path: Path, postgres: Postgres) -> None:
    store, other = postgres.region(), tmp_path / "other"
    journal = SqliteJournal(other)
    with journal.write() as transaction:
        transaction.append([Entry(VmDeleted(BEFORE, "another"), "DeleteVms", Origin("operator"))])
    journal.close()
    bring(other, store)
    before = rows_in(store), head_of(store)
    assert "holds a region already, with 1 records" in bring(data, store, status=1).stderr
    assert (rows_in(store), head_of(store)) == before


def test_a_node_that_waits_on_the_empty_database_is_named(data: Path, tmp_path: Path, postgres: Postgres) -> None:
    store = postgres.region()
    env = clean_environment(FOREWARN_STORE=store, FOREWARN_NODE_NAME="alpha")
    with ServerProgram.start(tmp_path / "node", *KINDS, env=env) as node:
        until(lambda: "alpha" in run("node", "list", "--url", node.control).stdout, "the node announces itself")
        assert "A node runs on" in (refused := bring(data, store, status=1).stderr)
        assert "(alpha)" in refused
    assert head_of(store)[0] == 0


def test_a_region_whose_clock_was_turned_ahead_is_told_why_it_stays(tmp_path: Path, postgres: Postgres) -> None:
    data, store = tmp_path / "data", postgres.region()
    journal = SqliteJournal(data)
    ahead = datetime(2999, 1, 1, tzinfo=UTC)
    with journal.write() as transaction:
        transaction.append([Entry(VmDeleted(ahead, "web-0"), "DeleteVms", Origin("operator"))])
    journal.close()
    assert "the region would stand still until then" in bring(data, store, status=1).stderr
    assert head_of(store)[0] == 0


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE facts SET who = 'somebody else' WHERE seq = 200",
        "DELETE FROM facts WHERE seq = 399",
        "UPDATE facts SET body = X'7B7D' WHERE seq = 7",
    ],
)
def test_a_damaged_journal_stays_where_it_is(data: Path, postgres: Postgres, damage: str) -> None:
    store = postgres.region()
    connection = sqlite3.connect(data / "journal.sqlite3", isolation_level=None)
    connection.execute(damage)
    connection.close()
    assert "of the journal is" in bring(data, store, status=1).stderr
    with psycopg.connect(store) as looking:
        prepared = looking.execute("SELECT to_regclass('facts')").fetchone() == ("facts",)
        assert not prepared or looking.execute("SELECT count(*) FROM facts").fetchone() == (0,)


def test_a_directory_without_a_journal_and_a_missing_address_are_refused(tmp_path: Path, postgres: Postgres) -> None:
    assert "There is no journal in" in bring(tmp_path / "nowhere", postgres.region(), status=1).stderr
    assert not (tmp_path / "nowhere").exists()
    assert "which database?" in run("journal", "import", "--data", tmp_path, status=2).stderr


def test_what_the_database_gives_back_otherwise_is_not_committed(data: Path, postgres: Postgres) -> None:
    store = postgres.region()
    run("store", "prepare", env=clean_environment(FOREWARN_STORE=store))
    with psycopg.connect(store, autocommit=True) as operator:
        operator.execute(
            "CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN IF NEW.seq = 100 THEN NEW.who = 'nobody'; END IF; RETURN NEW; END $$"
        )
        operator.execute("CREATE TRIGGER meddle BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION meddle()")
    assert "did not arrive in" in (refused := bring(data, store, status=1).stderr)
    assert "Record 100" in refused
    assert (rows_in(store), head_of(store)[0]) == ([], 0)


def test_who_is_killed_with_every_record_on_its_way_leaves_nothing_and_begins_again(
    data: Path, postgres: Postgres
) -> None:
    store = postgres.region()
    run("store", "prepare", env=clean_environment(FOREWARN_STORE=store))
    with psycopg.connect(store, autocommit=True) as operator:
        operator.execute(
            "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$"
        )
        operator.execute("CREATE TRIGGER hold AFTER INSERT ON facts EXECUTE FUNCTION hold()")
        process = subprocess.Popen(
            [FOREWARN, "journal", "import", "--data", data], env=clean_environment(FOREWARN_STORE=store)
        )
        asleep = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'COPY facts%'"
        until(lambda: operator.execute(asleep).fetchone() is not None, "all rows are in, and not committed")
        process.kill()
        process.wait()
        until(lambda: operator.execute(asleep).fetchone() is None, "the server notices")
        operator.execute("DROP TRIGGER hold ON facts")
    assert (rows_in(store), head_of(store)[0]) == ([], 0)
    bring(data, store)
    assert rows_in(store) == rows_in_sqlite(data)


@pytest.mark.parametrize(("how", "is_new"), [(Break.BEFORE, True), (Break.AFTER, False)])
def test_a_commit_without_an_answer_is_found_out_by_the_next_try(
    data: Path, postgres: Postgres, how: Break, is_new: bool
) -> None:
    store = postgres.region()
    run("store", "prepare", env=clean_environment(FOREWARN_STORE=store))
    with Lossy(postgres.port) as wire:
        wire.breaks = how
        schema = store.rpartition("%3D")[2]
        refused = bring(data, postgres.url(schema=schema, port=wire.port), status=1).stderr
    assert "as a whole, or nothing of it is" in refused
    if how is Break.AFTER:
        until(lambda: head_of(store)[0] == 400, "the server has done it")
    told = run("journal", "import", "--data", data, "--json", env=clean_environment(FOREWARN_STORE=store)).stdout
    assert json.loads(told)["imported"] is is_new
    assert rows_in(store) == rows_in_sqlite(data)
