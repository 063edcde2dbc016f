"""Snapshots, dumps and the verifying of a journal in PostgreSQL, on a real server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores.postgres.journal import PostgresJournal
from forewarn.stores.snapshots import region as snapshots
from tests.contract.shared_regions import EVERYTHING, InPostgres, append, node, refusal
from tests.postgres import run
from tests.unit.stores.examples import entries
from tests.unit.stores.story import story

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
    assert "The snapshot of record 20 does not fit: the journal" in refusal(snapped.url)


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
