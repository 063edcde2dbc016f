"""What the journal in PostgreSQL promises beyond what every journal does, on a real server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import psycopg
import pytest

from forewarn import __version__
from forewarn.core.facts import FORMAT
from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores.postgres import schema as postgres_schema
from forewarn.stores.postgres.journal import PostgresJournal, prepare
from forewarn.stores.postgres.schema import LAYOUT
from forewarn.stores.snapshots import region as snapshots
from tests.contract.shared_regions import InPostgres, append, node
from tests.postgres import Server, run
from tests.unit.stores.examples import entries
from tests.unit.stores.story import story

EVERYTHING = 1_000_000


@pytest.fixture
def region(postgres: Server) -> Iterator[InPostgres]:
    made = InPostgres(postgres)
    yield made
    made.close()


def _refusal(url: str) -> str:
    with pytest.raises(JournalFault) as refused:
        PostgresJournal(url)
    return str(refused.value)


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
    assert "division by zero" in _refusal(region.url)
    monkeypatch.undo()
    assert "half_done" not in _tables(region)
    assert region.join().head() == 3


def test_a_newer_layout_is_refused_with_the_version_that_made_it(region: InPostgres) -> None:
    region.join()
    region.execute("INSERT INTO layouts VALUES (%s, '9.7')", LAYOUT + 1)
    wanted = f"in format {LAYOUT + 1} by forewarn 9.7; this is forewarn {__version__}"
    assert wanted in _refusal(region.url)
    with pytest.raises(JournalFault, match=r"Install forewarn 9\.7 or later; the journal was not touched"):
        prepare(region.url)


def test_facts_of_a_newer_format_are_refused_with_the_version_that_wrote_them(region: InPostgres) -> None:
    append(region.join(), entries(3))
    region.execute("UPDATE facts SET format = %s WHERE seq = 3", FORMAT + 1)
    region.execute("UPDATE head SET written_by = '9.7'")
    assert f"in format {FORMAT + 1} by forewarn 9.7" in _refusal(region.url)


@pytest.mark.parametrize("damage", ["DELETE FROM facts WHERE seq = 3", "UPDATE head SET seq = 2", "DELETE FROM facts"])
def test_a_head_that_disagrees_with_the_facts_is_refused(region: InPostgres, damage: str) -> None:
    append(region.join(), entries(3))
    region.execute(damage)
    assert "does not end where its head says. Nothing was changed; restore the database" in _refusal(region.url)


def test_tables_of_another_program_are_left_alone(region: InPostgres) -> None:
    region.execute("CREATE TABLE nodes (name text)")
    assert "holds tables of another program. Nothing was changed" in _refusal(region.url)
    assert _tables(region) == {"nodes"}


def test_a_schema_that_is_not_there_is_not_made(postgres: Server) -> None:
    assert "nothing in its search_path is there. Run CREATE SCHEMA" in _refusal(postgres.url(schema="missing"))


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
    assert "is encoded as LATIN1" in _refusal(postgres.url(latin))


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
    said = _refusal(_as(role, region))
    assert f"is not there, and this role may not make tables in the schema {region.schema}" in said
    assert "Run `forewarn store prepare --store URL` as a role that may, with --grant" in said
    assert _tables(region) == set()


def test_a_role_that_may_make_no_tables_is_told_who_has_to_when_they_are_too_old(
    region: InPostgres, role: str, request: pytest.FixtureRequest
) -> None:
    prepare(region.url, role)
    request.getfixturevalue("_newer_program")
    assert f"is of layout {LAYOUT}; this is forewarn {__version__}, which needs {LAYOUT + 1}" in _refusal(
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


# Backups


def test_a_dump_that_is_restored_elsewhere_is_the_same_journal(region: InPostgres) -> None:
    journal = region.join()
    append(journal, entries(30))
    journal.snapshot(story()[20][0], 20)
    dump, copy = region.server.directory / "region.dump", region.server.database()
    run("pg_dump", "--format", "custom", "--file", dump, "--schema", region.schema, region.server.url())
    run("pg_restore", "--dbname", region.server.url(copy), dump)
    restored = PostgresJournal(region.server.url(copy, schema=region.schema))
    assert restored.read(0, EVERYTHING) == journal.read(0, EVERYTHING)
    assert restored.load()[1] == 20
    append(restored, entries(1, "next"))
    assert list(restored.verify()) == []
    assert (restored.head(), journal.head()) == (31, 30)
    restored.close()


# Snapshots


@pytest.fixture
def snapped(region: InPostgres) -> InPostgres:
    """Two snapshots, each of many parts."""
    journal = region.join(part_bytes=300)
    append(journal, entries(30))
    for seq in (5, 10, 20):
        journal.snapshot(story()[seq][0], seq)
    return region


def test_the_last_two_snapshots_are_kept_in_parts(snapped: InPostgres) -> None:
    assert snapped.execute("SELECT seq, count(*) > 2 FROM snapshots GROUP BY seq ORDER BY seq") == [
        (10, True),
        (20, True),
    ]
    region, seq = snapped.join().load()
    assert seq == 20
    assert (region.vms, region.events) == (story()[20][0].vms, story()[20][0].events)


DAMAGES = {
    "a part that is missing": "DELETE FROM snapshots WHERE seq = 20 AND part = 1",
    "the last part that is missing": "DELETE FROM snapshots WHERE seq = 20 AND part = "
    "(SELECT max(part) FROM snapshots WHERE seq = 20)",
    "the first part that is missing": "DELETE FROM snapshots WHERE seq = 20 AND part = 0",
    "a byte that was changed": "UPDATE snapshots SET bytes = set_byte(bytes, 100, get_byte(bytes, 100) # 1) "
    "WHERE seq = 20 AND part = 1",
    "a part too many": "INSERT INTO snapshots SELECT 20, 1 + max(part), 'x' FROM snapshots WHERE seq = 20",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_gives_way_to_the_one_before(
    snapped: InPostgres, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    snapped.execute(damage)
    journal = snapped.join()
    with caplog.at_level(logging.WARNING):
        assert journal.load()[1] == 10
    assert "The snapshot of record 20 is ignored: it is damaged" in caplog.text
    assert [flaw.partition(":")[0] for flaw in journal.verify()] == ["The snapshot of record 20 cannot be used"]


def test_without_a_usable_snapshot_the_region_is_made_of_its_facts(snapped: InPostgres) -> None:
    snapped.execute("UPDATE snapshots SET bytes = 'x'")
    journal = snapped.join()
    assert journal.load() == (Region(), 0)
    assert len(journal.read(0, EVERYTHING)) == 30
    journal.snapshot(Region(lone_vms_made=30), 30)
    assert journal.load() == (Region(lone_vms_made=30), 30)


def test_a_snapshot_of_records_that_are_gone_is_refused(snapped: InPostgres) -> None:
    row = snapped.execute("SELECT chain FROM facts WHERE seq = 15")
    snapped.execute("DELETE FROM facts WHERE seq > 15")
    snapped.execute("UPDATE head SET seq = 15, chain = %s", row[0][0])
    assert "The snapshot of record 20 does not fit: the journal" in _refusal(snapped.url)


def test_nodes_that_keep_a_snapshot_at_the_same_time_keep_a_whole_one(region: InPostgres) -> None:
    journals = [region.join() for _ in range(4)]
    append(journals[0], entries(30))
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(journal.snapshot, story()[20][0], 20) for journal in journals]:
            done.result()
    assert list(journals[0].verify()) == []
    assert journals[0].load()[1] == 20


def test_a_snapshot_that_fails_half_way_leaves_those_before(
    snapped: InPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pack(*_: object) -> Iterator[bytes]:
        yield b"x" * 5000
        raise MemoryError

    monkeypatch.setattr(snapshots, "pack", pack)
    journal = snapped.join()
    with pytest.raises(MemoryError):
        journal.snapshot(Region(), 30)
    assert journal.load()[1] == 20
    assert list(journal.verify()) == []


# Verifying

FLAWS = {
    "DELETE FROM facts WHERE seq = 12": ["Record 12 of the journal is missing."],
    "DELETE FROM facts WHERE seq BETWEEN 12 AND 14": ["Records 12 to 14 of the journal are missing."],
    "UPDATE facts SET who = 'somebody else' WHERE seq = 12": [
        "Record 12 of the journal is not what was written there, or does not follow record 11."
    ],
    "UPDATE head SET chain = '\\x00'": ["Record 30 of the journal is not the one at which its head stands."],
    "UPDATE head SET seq = 28": ["The facts of the journal end at record 30, and its head stands at record 28."],
    "DELETE FROM facts WHERE seq > 28": [
        "The facts of the journal end at record 28, and its head stands at record 30."
    ],
}


@pytest.mark.parametrize(("damage", "said"), FLAWS.items())
def test_verifying_says_what_is_wrong(region: InPostgres, damage: str, said: list[str]) -> None:
    journal = region.join()
    append(journal, entries(30))
    region.execute(damage)
    assert list(journal.verify()) == said


def test_a_fact_that_cannot_be_read_is_found_by_verifying(region: InPostgres) -> None:
    journal = region.join()
    append(journal, entries(3))
    region.execute("UPDATE facts SET body = 'no JSON' WHERE seq = 2")
    found = list(journal.verify())
    assert found[0].startswith("Record 2 of the journal is not what was written there")
    with pytest.raises(JournalFault, match=r"Record 2 of the journal .* Restore the journal from a backup"):
        journal.read(0, EVERYTHING)


def test_verifying_a_server_that_is_away_says_so(region: InPostgres) -> None:
    journal = region.join()
    journal.close()
    assert [flaw.endswith("is closed.") for flaw in journal.verify()] == [True]


def test_every_call_on_a_closed_journal_is_refused(region: InPostgres) -> None:
    journal = region.join()
    journal.close()
    calls: list[Callable[[], object]] = [
        journal.head,
        journal.load,
        journal.shared.nodes,
        lambda: journal.read(0, 1),
        lambda: append(journal, entries(1)),
        lambda: journal.shared.await_news(0, 0, willing=True),
        lambda: journal.shared.announce(node("a")),
    ]
    for call in calls:
        with pytest.raises(JournalFault, match="is closed"):
            call()
