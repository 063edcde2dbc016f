"""A data directory that is taken away under a running server: nothing is acknowledged that nobody would find again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.unit.stores.directories import RECORDS, append, closed, content, fill


def _deleted(directory: Path) -> None:
    shutil.rmtree(directory)


def _moved(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))


def _replaced(directory: Path) -> None:
    _moved(directory)
    closed(directory, prefix="other")


def _journal_unlinked(directory: Path) -> None:
    (directory / "journal.sqlite3").unlink()


def _journal_replaced(directory: Path) -> None:
    copy = directory / "copy"
    shutil.copyfile(directory / "journal.sqlite3", copy)
    copy.rename(directory / "journal.sqlite3")


def _log_unlinked(directory: Path) -> None:
    (directory / "journal.sqlite3-wal").unlink()


def _index_unlinked(directory: Path) -> None:
    """Another program would not see that somebody has the file open, and could fold and empty the log under it."""
    (directory / "journal.sqlite3-shm").unlink()


def _lock_unlinked(directory: Path) -> None:
    """Another server would think that it may have the directory."""
    (directory / "lock").unlink()


AWAY = (
    _deleted,
    _moved,
    _replaced,
    _journal_unlinked,
    _journal_replaced,
    _log_unlinked,
    _index_unlinked,
    _lock_unlinked,
)
Away = Callable[[Path], None]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    made = fill(tmp_path / "data")
    yield made
    made.close()


@pytest.mark.parametrize("away", AWAY)
def test_a_journal_whose_file_was_replaced_refuses_to_write(
    journal: SqliteJournal, tmp_path: Path, away: Away, caplog: pytest.LogCaptureFixture
) -> None:
    assert journal.ailment() == ""
    away(tmp_path / "data")
    before = content(tmp_path / "data") if (tmp_path / "data").exists() else {}
    for _ in range(3):
        with pytest.raises(JournalFault, match=r"is not what this server has opened: .* Bring it back"):
            append(journal, 1)
        with pytest.raises(JournalFault, match="is not what this server has opened"):
            journal.snapshot(Region(), RECORDS)
    assert "was moved, replaced or deleted" in journal.ailment()
    assert [flaw for flaw in journal.verify() if "was moved, replaced or deleted" in flaw] == list(journal.verify())
    assert (content(tmp_path / "data") if (tmp_path / "data").exists() else {}) == before
    assert len([record for record in caplog.records if "is not what this server has opened" in record.message]) == 1


def test_a_journal_whose_file_was_replaced_refuses_to_read_the_other_one(
    journal: SqliteJournal, tmp_path: Path
) -> None:
    assert journal.head() == RECORDS
    _replaced(tmp_path / "data")
    assert [record.fact for record in journal.read(0, 1)] != []  # by a connection that was open before
    with journal._reader(), pytest.raises(JournalFault, match="was moved, replaced or deleted"):
        journal.head()


def test_a_file_that_replaced_the_journal_is_not_touched_when_the_server_ends(tmp_path: Path) -> None:
    journal = fill(tmp_path / "data")
    _moved(tmp_path / "data")
    second = fill(tmp_path / "data", prefix="other")
    journal.close()
    append(second, 3)
    before = content(tmp_path / "data")
    assert "journal.sqlite3-wal" in before
    second.close()
    assert SqliteJournal(tmp_path / "data").head() == RECORDS + 3
    assert SqliteJournal(tmp_path / "elsewhere").head() == RECORDS


def test_a_directory_that_comes_back_is_written_again(
    journal: SqliteJournal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    _moved(tmp_path / "data")
    with pytest.raises(JournalFault):
        append(journal, 1, "lost")
    (tmp_path / "elsewhere").rename(tmp_path / "data")
    append(journal, 1, "kept")
    assert journal.ailment() == ""
    assert "can be written again" in caplog.text
    assert journal.about("vm/lost-0", 1) == []
    assert [record.seq for record in journal.about("vm/kept-0", 9)] == [RECORDS + 1]
