"""Directories that a server must not run on: each is refused with a sentence, and left as it was found."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from forewarn import __version__
from forewarn.core.facts import FORMAT
from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores.snapshots import files as snapshot_files
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.unit.stores.directories import RECORDS, closed, content, crashed, tampering

FILE = "journal.sqlite3"


def _patch(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


def _garbage(directory: Path) -> None:
    (directory / FILE).write_bytes(b"once upon a time " * 1000)


def _empty(directory: Path) -> None:
    (directory / FILE).write_bytes(b"")


def _half(directory: Path) -> None:
    whole = (directory / FILE).read_bytes()
    (directory / FILE).write_bytes(whole[: len(whole) // 2])


def _stub(directory: Path) -> None:
    (directory / FILE).write_bytes((directory / FILE).read_bytes()[:60])


def _foreign(directory: Path) -> None:
    (directory / FILE).unlink()
    connection = sqlite3.connect(directory / FILE)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()


def _newer_layout(directory: Path) -> None:
    with tampering(directory) as connection:
        connection.execute("UPDATE properties SET value = '9.7'")
        connection.execute("PRAGMA user_version = 12")


def _newer_layout_of_unknown_shape(directory: Path) -> None:
    with tampering(directory) as connection:
        connection.execute("DROP TABLE properties")
        connection.execute("PRAGMA user_version = 12")


def _newer_facts(directory: Path) -> None:
    with tampering(directory) as connection:
        connection.execute("UPDATE properties SET value = '9.7'")
        connection.execute(f"UPDATE facts SET format = {FORMAT + 1} WHERE seq = (SELECT max(seq) FROM facts)")


def _edited(directory: Path) -> None:
    with tampering(directory) as connection:
        connection.execute("UPDATE facts SET body = replace(body, 'vm-29', 'vm-92') WHERE seq = 30")


def _without_one(directory: Path) -> None:
    with tampering(directory) as connection:
        connection.execute("DELETE FROM facts WHERE seq = 30")


def _with_a_stranger(directory: Path) -> None:
    with tampering(directory) as connection:
        rest = "format, at, command, door, who, request_id, subject, body, chain"
        connection.execute(f"INSERT INTO facts SELECT 41, {rest} FROM facts WHERE seq = 40")


def _swapped(directory: Path) -> None:
    with tampering(directory) as connection:
        for old, new in ((30, 99), (31, 30), (99, 31)):
            connection.execute("UPDATE facts SET seq = ? WHERE seq = ?", (new, old))


def _without_chains(directory: Path) -> None:
    with tampering(directory) as connection:
        connection.execute("UPDATE facts SET chain = 0, body = 7")


def _without_table(directory: Path) -> None:
    with tampering(directory) as connection:
        connection.execute("DROP TABLE facts")


def _bad_page(directory: Path) -> None:
    size = (directory / FILE).stat().st_size
    _patch(directory / FILE, size - 4096, b"\xa5" * 4096)


def _bad_index_page(directory: Path) -> None:
    """Nothing that a start reads for itself; the first write would meet it."""
    with tampering(directory) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'facts_by_subject'").fetchone()
    _patch(directory / FILE, 4096 * (page - 1), b"\xa5" * 4096)


def _bad_schema_page(directory: Path) -> None:
    _patch(directory / FILE, 100, b"\xa5" * 300)


def _cut_tail(directory: Path) -> None:
    """Whoever takes away the last records leaves a whole chain; the snapshot remembers."""
    with tampering(directory) as connection:
        connection.execute("DELETE FROM facts WHERE seq > 15")


def _missing(directory: Path) -> None:
    (directory / FILE).unlink()


def _missing_but_for_its_log(directory: Path) -> None:
    for path in [directory / FILE, *snapshot_files.listed(directory)]:
        path.unlink()
    (directory / f"{FILE}-wal").write_bytes(b"")


def _another_journal(directory: Path) -> None:
    (directory / FILE).unlink()
    closed(directory.with_name("other"), snapshots=(), prefix="other")
    (directory.with_name("other") / FILE).rename(directory / FILE)


RESTORE = "restore the data directory from a backup"
UNREADABLE = f"is not a journal, or is damaged from its first byte on. Nothing was changed; {RESTORE}"
ALTERED = "is not what was written there, or does not follow record"
DAMAGES: dict[Callable[[Path], None], str] = {
    _garbage: UNREADABLE,
    _empty: UNREADABLE,
    _stub: UNREADABLE,
    _half: rf"was cut short: \d+ bytes of \d+\. Nothing was changed; {RESTORE}",
    _foreign: "is a SQLite file of another program. Nothing was changed; choose another data directory",
    _newer_layout: rf"in format 12 by forewarn 9\.7; this is forewarn {__version__}, .* Install forewarn 9\.7 or later",
    _newer_layout_of_unknown_shape: "in format 12 by a newer forewarn; .* Install a newer forewarn; the journal was",
    _newer_facts: rf"in format {FORMAT + 1} by forewarn 9\.7; .* Install forewarn 9\.7 or later; the journal was not",
    _edited: f"Record 30 of the journal {ALTERED} 29. Restore the journal",
    _without_one: "Record 30 of the journal is missing. Restore the journal",
    _with_a_stranger: f"Record 41 of the journal {ALTERED} 40. Restore the journal",
    _swapped: f"Record 30 of the journal {ALTERED} 29. Restore the journal",
    _without_chains: "stands for record 20, but the journal .* holds another one there",
    _without_table: f"has not the shape of a journal. It was not touched; {RESTORE}",
    _bad_page: f"is damaged. .*{RESTORE}",
    _bad_index_page: f"is damaged. .*{RESTORE}",
    _bad_schema_page: f"is damaged. .*{RESTORE}",
    _cut_tail: "stands for record 20, but the journal .* ends at record 15 .* or move the snapshots away",
    _missing: "is missing, though what belongs to it is still there: snapshot-.*, snapshot-.* Bring it back",
    _missing_but_for_its_log: "is missing, though what belongs to it is still there: journal.sqlite3-wal",
    _another_journal: "stands for record 20, but the journal .* belongs elsewhere",
}


def _name(damage: Callable[[Path], None]) -> str:
    return damage.__name__.strip("_").replace("_", " ")


@pytest.mark.parametrize("damage", DAMAGES, ids=_name)
def test_a_damaged_directory_is_refused_with_what_to_do_and_left_as_it_was(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    directory = closed(tmp_path / "data")
    damage(directory)
    before = content(directory)
    for _ in range(2):
        with pytest.raises(JournalFault, match=DAMAGES[damage]):
            SqliteJournal(directory)
        assert content(directory) == before


def _layout_in_the_file(directory: Path) -> None:
    _patch(directory / FILE, 60, b"\0\0\0\x0c")


def _application_in_the_file(directory: Path) -> None:
    _patch(directory / FILE, 68, b"else")


def _cut_log(directory: Path) -> None:
    """The log lost its end, and with it what the snapshot stands for."""
    log = directory / f"{FILE}-wal"
    log.write_bytes(log.read_bytes()[:100])


def _bad_log(directory: Path) -> None:
    _patch(directory / f"{FILE}-wal", 4000, b"\xa5" * 100)


AFTER_A_CRASH: dict[Callable[[Path], None], str] = {
    _garbage: UNREADABLE,
    _layout_in_the_file: "in format 12 by forewarn",
    _application_in_the_file: "is a SQLite file of another program",
    _cut_log: "stands for record 20, but the journal .* ends at record 0",
    _bad_log: "stands for record 20, but the journal .* ends at record 0",
    _missing: "is missing, though what belongs to it is still there: journal.sqlite3-wal, snapshot-.*, snapshot-",
}


@pytest.mark.parametrize("damage", AFTER_A_CRASH, ids=_name)
def test_a_damaged_directory_with_a_log_of_a_crash_is_refused_and_the_log_not_touched(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    directory = crashed(tmp_path / "data")
    damage(directory)
    before = content(directory)
    for _ in range(2):
        with pytest.raises(JournalFault, match=AFTER_A_CRASH[damage]):
            SqliteJournal(directory)
        assert content(directory) == before


def test_a_damaged_fact_in_the_log_is_refused_and_the_log_is_not_touched(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    running = closed(tmp_path / "running")
    with tampering(running) as connection:
        connection.execute("UPDATE facts SET who = 'nobody' WHERE seq = 33")
        shutil.copytree(running, directory)
    before = content(directory)
    assert before[f"{FILE}-wal"]
    with pytest.raises(JournalFault, match="Record 33 of the journal"):
        SqliteJournal(directory)
    assert content(directory) == before


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    with pytest.raises(JournalFault, match=r"The data directory .*data cannot be used: File exists"):
        SqliteJournal(tmp_path / "data")
    with pytest.raises(JournalFault, match=r"The data directory .*deeper cannot be used: Not a directory"):
        SqliteJournal(tmp_path / "data" / "deeper")
    assert (tmp_path / "data").read_text() == "mine"


def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(JournalFault, match="cannot be used: Is a directory"):
        SqliteJournal(tmp_path)


def test_a_refused_directory_is_free_for_the_next_who_tries(tmp_path: Path) -> None:
    directory = closed(tmp_path / "data")
    whole = (directory / FILE).read_bytes()
    _half(directory)
    with pytest.raises(JournalFault):
        SqliteJournal(directory)
    (directory / FILE).write_bytes(whole)
    journal = SqliteJournal(directory)
    assert journal.head() == RECORDS
    journal.close()


def test_damage_before_the_newest_snapshot_does_not_keep_a_server_from_starting(tmp_path: Path) -> None:
    directory = closed(tmp_path / "data")
    with tampering(directory) as connection:
        connection.execute("UPDATE facts SET who = 'nobody' WHERE seq = 5")
    journal = SqliteJournal(directory)
    assert journal.load() == (Region(lone_vms_made=20), 20)
    assert len(journal.read(20, 100)) == 20
    with pytest.raises(JournalFault, match="Record 5 of the journal"):
        journal.read(0, 100)
    assert list(journal.verify()) == [f"Record 5 of the journal {ALTERED} 4."]
    journal.close()
