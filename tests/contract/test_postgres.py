"""The tables of a journal in PostgreSQL and the role that may use them, on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import psycopg
import pytest

from forewarn import __version__
from forewarn.core.facts import FORMAT
from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores.postgres import facts
from forewarn.stores.postgres import schema as postgres_schema
from forewarn.stores.postgres.address import PATIENCE, ConnectionString
from forewarn.stores.postgres.connections import connect
from forewarn.stores.postgres.journal import PostgresJournal, prepare
from forewarn.stores.postgres.schema import LAYOUT
from tests.contract.shared_regions import InPostgres, append, node, refusal
from tests.postgres import Server
from tests.unit.stores.examples import entries


def _tables(region: InPostgres) -> set[str]:
    rows = region.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    return {str(name) for (name,) in rows}


# The tables


def test_nodes_that_start_at_once_make_the_tables_once(region: InPostgres) -> None:
    with ThreadPoolExecutor(6) as pool:
        journals = list(pool.map(lambda _: region.join(), range(6)))
    assert region.execute("SELECT layout, made_by FROM layouts") == [(LAYOUT, __version__)]
    assert [journal.head() for journal in journals] == [0] * 6


def test_preparing_again_changes_nothing(region: InPostgres) -> None:
    said = f"The schema {region.schema} of {region.shown} holds a journal of layout {LAYOUT}."
    assert prepare(region.url) == said
    before = region.execute("SELECT * FROM layouts")
    append(region.join(), entries(2))
    assert prepare(region.url) == said
    assert region.execute("SELECT * FROM layouts") == before
    assert region.join().head() == 2


@pytest.fixture
def _newer_program(monkeypatch: pytest.MonkeyPatch) -> None:
    migrations = (*postgres_schema._MIGRATIONS, "CREATE TABLE something_new (id integer)")
    monkeypatch.setattr(postgres_schema, "_MIGRATIONS", migrations)
    monkeypatch.setattr(postgres_schema, "LAYOUT", LAYOUT + 1)


def test_an_older_layout_is_brought_up_to_date_once_and_keeps_its_records(
    region: InPostgres, request: pytest.FixtureRequest
) -> None:
    append(region.join(), entries(3))
    request.getfixturevalue("_newer_program")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: region.join().head(), range(4))) == [3] * 4
    assert region.execute("SELECT layout FROM layouts ORDER BY layout") == [(LAYOUT,), (LAYOUT + 1,)]
    assert "something_new" in _tables(region)


def test_a_migration_that_fails_leaves_the_layout_as_it_was(
    region: InPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(region.join(), entries(3))
    broken = "CREATE TABLE half_done (id integer); SELECT 1 / 0"
    monkeypatch.setattr(postgres_schema, "_MIGRATIONS", (*postgres_schema._MIGRATIONS, broken))
    monkeypatch.setattr(postgres_schema, "LAYOUT", LAYOUT + 1)
    assert "division by zero" in refusal(region.url)
    monkeypatch.undo()
    assert "half_done" not in _tables(region)
    assert region.join().head() == 3


def test_a_newer_layout_is_refused_with_the_version_that_made_it(region: InPostgres) -> None:
    region.join()
    region.execute("INSERT INTO layouts VALUES (%s, '9.7')", LAYOUT + 1)
    wanted = f"in format {LAYOUT + 1} by forewarn 9.7; this is forewarn {__version__}"
    assert wanted in refusal(region.url)
    with pytest.raises(JournalFault, match=r"Install forewarn 9\.7 or later; the journal was not touched"):
        prepare(region.url)


def test_facts_of_a_newer_format_are_refused_with_the_version_that_wrote_them(region: InPostgres) -> None:
    append(region.join(), entries(3))
    region.execute("UPDATE facts SET format = %s WHERE seq = 3", FORMAT + 1)
    region.execute("UPDATE head SET written_by = '9.7'")
    assert f"in format {FORMAT + 1} by forewarn 9.7" in refusal(region.url)


@pytest.mark.parametrize("damage", ["DELETE FROM facts WHERE seq = 3", "UPDATE head SET seq = 2", "DELETE FROM facts"])
def test_a_head_that_disagrees_with_the_facts_is_refused(region: InPostgres, damage: str) -> None:
    append(region.join(), entries(3))
    region.execute(damage)
    assert "does not end where its head says. Nothing was changed; restore the database" in refusal(region.url)


def test_a_journal_that_was_empty_a_moment_ago_is_not_taken_for_a_broken_one(region: InPostgres) -> None:
    append(region.join(), entries(3))  # between the two looks of a node that starts
    with connect(ConnectionString(region.url, PATIENCE)) as session:
        assert facts.row_at(session, 0) is None
        row = facts.row_at(session, 2)
        assert row is not None
        assert row[0] == 2


def test_tables_of_another_program_are_left_alone(region: InPostgres) -> None:
    region.execute("CREATE TABLE nodes (name text)")
    assert "holds tables of another program. Nothing was changed" in refusal(region.url)
    assert _tables(region) == {"nodes"}


def test_a_schema_that_is_not_there_is_not_made(postgres: Server) -> None:
    assert "nothing in its search_path is there. Run CREATE SCHEMA" in refusal(postgres.url(schema="missing"))


def test_a_schema_may_have_any_name(postgres: Server) -> None:
    name = 'Region "of" Größe 1'
    quoted = name.replace('"', '""')
    postgres.execute(f'CREATE SCHEMA "{quoted}"')
    option = f'"{quoted}"'.replace(" ", r"\ ")
    for _ in range(2):
        journal = PostgresJournal(postgres.url(schema=option))
        append(journal, entries(1))
        journal.close()
    assert postgres.execute(f'SELECT seq FROM "{quoted}".head') == [(2,)]


def test_a_region_is_in_the_first_schema_only(region: InPostgres, postgres: Server) -> None:
    append(region.join(), entries(3))
    postgres.execute("CREATE SCHEMA in_front")
    journal = PostgresJournal(postgres.url(schema=f"in_front,{region.schema}"))
    assert journal.head() == 0
    journal.close()


def test_a_database_that_cannot_hold_every_name_is_refused(postgres: Server) -> None:
    name = postgres.database()
    latin = f"{name}_latin"
    postgres.execute(f"CREATE DATABASE {latin} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "is encoded as LATIN1" in refusal(postgres.url(latin))


def test_regions_in_one_database_do_not_meet(region: InPostgres, postgres: Server) -> None:
    other = InPostgres(postgres)
    one, two = region.join(), other.join()
    assert one.shared.await_news(0, 0, willing=True).leads
    assert two.shared.await_news(0, 0, willing=True).leads
    with one.shared.editing(), two.shared.editing(), one.write() as first:
        first.append(entries(1))
        append(two, entries(3))
    assert (one.head(), two.head()) == (1, 3)
    other.close()


def test_the_time_is_utc_whatever_the_server_is_set_to(postgres: Server) -> None:
    name = postgres.database()
    postgres.execute(f"ALTER DATABASE {name} SET timezone = 'Asia/Kolkata'")
    journal = PostgresJournal(postgres.url(name))
    journal.shared.announce(node("a"))
    with journal.write() as transaction:
        assert transaction.now is not None
        assert transaction.now.tzinfo is UTC
    assert journal.shared.await_news(0, 0, willing=False).now.tzinfo is UTC
    assert journal.shared.nodes()[0].seen_at.tzinfo is UTC
    journal.close()


# The role


@pytest.fixture
def role(region: InPostgres, postgres: Server) -> Iterator[str]:
    """Somebody who may do nothing but connect."""
    name = f"role_of_{region.schema}"
    postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'of the role'")
    yield name
    postgres.execute(f"DROP OWNED BY {name}")
    postgres.execute(f"DROP ROLE {name}")


def _as(role: str, region: InPostgres) -> str:
    return region.server.url(user=role, password="of the role", schema=region.schema)


def test_a_role_with_the_least_rights_can_do_all_that_a_node_does(region: InPostgres, role: str) -> None:
    assert prepare(region.url, role).endswith(f"The role {role} may use it.")
    journal = PostgresJournal(_as(role, region))
    append(journal, entries(2))
    append(journal, entries(1000, "many"))
    for seq in (1, 2, 3):
        journal.snapshot(Region(lone_vms_made=seq), seq)
    journal.shared.announce(node("a"))
    journal.shared.announce(node("a"))
    with journal.shared.editing():
        assert journal.shared.await_news(0, 0, willing=True).leads
    assert [found.name for found in journal.shared.nodes()] == ["a"]
    journal.shared.withdraw("id of a")
    assert (journal.load()[1], journal.head()) == (3, 1002)
    assert list(journal.verify()) == []
    journal.close()
    assert "holds a journal" in prepare(_as(role, region))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE facts SET who = ''",
        "DELETE FROM facts",
        "TRUNCATE facts",
        "DROP TABLE facts",
        "ALTER TABLE facts DISABLE TRIGGER ALL",
        "DELETE FROM head",
        "INSERT INTO layouts VALUES (9, '9.7')",
        "CREATE TABLE mine (id integer)",
    ],
)
def test_the_role_with_the_least_rights_can_change_neither_records_nor_tables(
    region: InPostgres, role: str, statement: str
) -> None:
    prepare(region.url, role)
    append(region.join(), entries(2))
    with (
        psycopg.connect(_as(role, region), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())
    assert list(region.join().verify()) == []


def test_granting_to_a_role_that_is_not_there_says_so(region: InPostgres) -> None:
    with pytest.raises(JournalFault, match=r"There is no role nobody-of-that-name\. Make it with CREATE ROLE"):
        prepare(region.url, "nobody-of-that-name")


def test_a_role_that_may_make_no_tables_is_told_who_has_to(region: InPostgres, role: str) -> None:
    region.execute(f"GRANT USAGE ON SCHEMA {region.schema} TO {role}")
    said = refusal(_as(role, region))
    assert f"is not there, and this role may not make tables in the schema {region.schema}" in said
    assert "Run `forewarn store prepare --store URL` as a role that may, with --grant" in said
    assert _tables(region) == set()


def test_a_role_that_may_make_no_tables_is_told_who_has_to_when_they_are_too_old(
    region: InPostgres, role: str, request: pytest.FixtureRequest
) -> None:
    prepare(region.url, role)
    request.getfixturevalue("_newer_program")
    assert f"is of layout {LAYOUT}; this is forewarn {__version__}, which needs {LAYOUT + 1}" in refusal(
        _as(role, region)
    )


def test_a_missing_right_of_the_role_is_named_in_the_refusal(region: InPostgres, role: str) -> None:
    prepare(region.url, role)
    region.execute(f"REVOKE INSERT ON facts FROM {role}")
    journal = PostgresJournal(_as(role, region))
    with pytest.raises(JournalFault, match=r"a permission is missing\. Grant this role what docs/postgresql\.md lists"):
        append(journal, entries(1))
    assert journal.head() == 0
    journal.close()
