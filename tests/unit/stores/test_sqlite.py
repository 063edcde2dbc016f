"""What the journal in a directory promises beyond what every journal does."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from forewarn import __version__
from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.unit.stores.directories import RECORDS, append, closed, content, crashed, fill, full_disk, tampering
from tests.unit.stores.examples import entries
from tests.unit.stores.story import story

HOLDER = """
import sys
from pathlib import Path
from forewarn.stores.sqlite.journal import SqliteJournal
journal = SqliteJournal(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    made = fill(tmp_path / "data")
    yield made
    made.close()


# The directory


def test_directory_and_files_are_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = fill(tmp_path / "deep" / "data")
        journal.snapshot(Region(), 30)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep" / "data").iterdir()}
    assert {"lock", "journal.sqlite3", "journal.sqlite3-wal", "journal.sqlite3-shm"} < modes.keys()
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "deep" / "data").stat().st_mode) == 0o700
    journal.close()


def test_a_directory_that_is_there_keeps_what_else_is_in_it(tmp_path: Path) -> None:
    directory = tmp_path / "data with spaces? 100%#"
    directory.mkdir(mode=0o700)
    (directory / "notes.txt").write_text("mine")
    (directory / "notes.txt").chmod(0o644)
    closed(directory)
    assert (directory / "notes.txt").read_text() == "mine"
    assert stat.S_IMODE((directory / "notes.txt").stat().st_mode) == 0o644


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o720])
@pytest.mark.parametrize("used", [False, True])
def test_a_directory_that_others_may_write_to_is_closed_to_them_and_that_is_said(
    mode: int, used: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = closed(tmp_path / "data") if used else tmp_path / "data"
    directory.mkdir(exist_ok=True)
    directory.chmod(mode)
    closed(directory)
    assert stat.S_IMODE(directory.stat().st_mode) & 0o777 == 0o700
    assert f"Other users could write to the data directory {directory} (mode {mode:04o}); it is now" in caplog.text


def test_a_place_that_many_use_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    directory = tmp_path / "shared"
    directory.mkdir()
    directory.chmod(0o1777)
    (directory / "of somebody else").write_text("theirs")
    with pytest.raises(JournalFault, match=r"Other users may write to the data directory .* \(mode 1777\), and could"):
        SqliteJournal(directory)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o1777
    assert [path.name for path in directory.iterdir()] == ["of somebody else"]


def test_a_directory_that_others_may_only_read_keeps_its_mode(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    directory.chmod(0o755)
    closed(directory)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o755


def test_a_directory_for_its_owner_only_is_taken_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed(closed(tmp_path / "data"))
    assert caplog.text == ""


def test_a_journal_that_was_put_back_open_to_all_is_closed_to_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = closed(tmp_path / "data")
    (directory / "journal.sqlite3").chmod(0o644)
    SqliteJournal(directory).close()
    assert stat.S_IMODE((directory / "journal.sqlite3").stat().st_mode) == 0o600
    assert "is now for its owner only: journal.sqlite3." in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    directory = closed(tmp_path / "data")
    os.chown(directory, 12345, 12345)
    before = content(directory)
    with pytest.raises(JournalFault, match=r"belongs to another user \(number 12345\), who may replace .* \(chown 0\)"):
        SqliteJournal(directory)
    assert content(directory) == before
    assert directory.stat().st_uid == 12345


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_root_that_a_group_may_write_is_refused() -> None:
    trial = (
        "import os, sys; from pathlib import Path; from forewarn.stores.sqlite.journal import SqliteJournal\n"
        "os.setgid(12345); os.setuid(12345)\n"
        "SqliteJournal(Path(sys.argv[1]))"
    )
    with TemporaryDirectory() as directory:
        os.chown(directory, 0, 12345)
        Path(directory).chmod(0o770)
        done = subprocess.run([sys.executable, "-c", trial, directory], capture_output=True, text=True, check=False)
        assert "Other users may write to the data directory" in done.stderr
        assert os.listdir(directory) == []  # noqa: PTH208 - a path as text, as the journal takes it


def test_a_closed_journal_leaves_no_log_behind(tmp_path: Path) -> None:
    assert sorted(content(closed(tmp_path / "data"))) == [
        "head",
        "journal.sqlite3",
        "snapshot-0000000000000010.bin",
        "snapshot-0000000000000020.bin",
    ]


def test_what_a_killed_server_left_half_made_is_cleared_away(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    for name in (
        "journal.sqlite3.unfinished",
        "journal.sqlite3.unfinished-wal",
        "snapshot-0000000000000030.unfinished",
    ):
        (directory / name).write_bytes(b"half")
    closed(directory)
    assert not list(directory.glob("*unfinished*"))


def test_the_version_that_writes_is_noted(tmp_path: Path) -> None:
    directory = closed(tmp_path / "data")
    with tampering(directory) as connection:
        assert connection.execute("SELECT value FROM properties").fetchall() == [(__version__,)]
        connection.execute("UPDATE properties SET value = '0.0.1'")
    SqliteJournal(directory).close()
    with tampering(directory) as connection:
        assert connection.execute("SELECT value FROM properties").fetchall() == [(__version__,)]


def test_every_commit_is_forced_to_the_disk(journal: SqliteJournal) -> None:
    with journal.write():
        assert journal._writer is not None
        assert journal._writer.execute("PRAGMA synchronous").fetchone() == (2,)
        assert journal._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# One server at a time


def test_a_second_server_on_the_directory_is_told_who_has_it(journal: SqliteJournal, tmp_path: Path) -> None:
    append(journal, 1)
    with pytest.raises(JournalFault, match=rf"data is in use by process {os.getpid()}\. Stop that server, or"):
        SqliteJournal(tmp_path / "data")
    append(journal, 1)
    assert journal.head() == RECORDS + 2


def test_a_directory_is_free_when_its_server_has_closed_it(tmp_path: Path) -> None:
    for _ in range(2):
        journal = SqliteJournal(tmp_path / "data")
        journal.close()


def test_a_killed_server_does_not_keep_its_directory(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "data")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        with pytest.raises(JournalFault, match=rf"in use by process {holder.pid}\."):
            SqliteJournal(tmp_path / "data")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        SqliteJournal(tmp_path / "data").close()


# After a crash


def test_what_was_in_the_log_is_there_after_a_crash(tmp_path: Path) -> None:
    journal = SqliteJournal(crashed(tmp_path / "data"))
    assert journal.head() == RECORDS
    assert [entry.fact for entry in entries(RECORDS)] == [record.fact for record in journal.read(0, 100)]
    assert journal.load() == (Region(lone_vms_made=20), 20)
    assert list(journal.verify()) == []
    journal.close()


def test_a_block_that_was_not_finished_is_not_there_after_a_crash(tmp_path: Path) -> None:
    directory = crashed(tmp_path / "data", snapshots=())
    (directory / "head").unlink()  # which is written when a block is finished
    log = directory / "journal.sqlite3-wal"
    log.write_bytes(log.read_bytes()[:-100])
    journal = SqliteJournal(directory)
    assert journal.head() == 0
    append(journal, 3)
    assert journal.head() == 3
    assert list(journal.verify()) == []
    journal.close()


# Nothing half-written


def test_a_fact_that_cannot_be_written_takes_its_whole_block_with_it(journal: SqliteJournal) -> None:
    before = journal.read(0, 1000)

    def write() -> None:
        with journal.write() as transaction:
            transaction.append([*entries(3, "lost"), *entries(1, "\ud800"), *entries(3, "lost")])

    with pytest.raises(UnicodeEncodeError):
        write()
    assert journal.read(0, 1000) == before
    append(journal, 1, "next")
    assert [record.seq for record in journal.about("vm/next-0", 10)] == [RECORDS + 1]
    assert list(journal.verify()) == []


def test_a_full_disk_is_a_fault_that_passes_and_leaves_nothing_half_written(journal: SqliteJournal) -> None:
    before = journal.read(0, 1000)
    with full_disk(200_000):
        with pytest.raises(JournalFault, match=r"The journal .* could not be (read or )?written.* Nothing was changed"):
            append(journal, 5000, "lost")
        assert journal.read(0, 1000) == before
        assert list(journal.verify()) == []
    append(journal, 5000, "kept")
    assert journal.head() == RECORDS + 5000
    assert journal.about("vm/lost-0", 10) == []
    assert list(journal.verify()) == []


def test_small_writes_go_on_where_a_large_one_did_not_fit(journal: SqliteJournal) -> None:
    with full_disk(200_000):
        with pytest.raises(JournalFault):
            append(journal, 5000, "lost")
        append(journal, 2, "small")
    assert [record.seq for record in journal.about("vm/small-1", 10)] == [RECORDS + 2]


def test_a_snapshot_that_does_not_fit_is_a_fault_and_leaves_the_others(journal: SqliteJournal, tmp_path: Path) -> None:
    before = {name for name in content(tmp_path / "data") if name.startswith("snapshot")}
    with full_disk(100), pytest.raises(JournalFault, match=r"snapshot .* could not be written: .* No fact is lost"):
        journal.snapshot(story()[20][0], 30)
    assert {name for name in content(tmp_path / "data") if name.startswith("snapshot")} == before
    assert journal.load() == (Region(lone_vms_made=20), 20)
    journal.snapshot(story()[20][0], 30)
    assert journal.load()[1] == 30


# Snapshots


def test_the_last_two_snapshots_are_kept(journal: SqliteJournal, tmp_path: Path) -> None:
    journal.snapshot(Region(lone_vms_made=30), 30)
    names = sorted(path.name for path in (tmp_path / "data").glob("snapshot*"))
    assert names == ["snapshot-0000000000000020.bin", "snapshot-0000000000000030.bin"]


@pytest.mark.parametrize("damaged", [b"", b"nonsense", b"forewarn snapshot\n"])
def test_a_damaged_snapshot_gives_way_to_the_one_before_with_a_reason(
    tmp_path: Path, damaged: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    directory = closed(tmp_path / "data")
    (directory / "snapshot-0000000000000020.bin").write_bytes(damaged)
    journal = SqliteJournal(directory)
    assert journal.load() == (Region(lone_vms_made=10), 10)
    assert "snapshot-0000000000000020.bin is ignored: it is damaged" in caplog.text
    (flaw,) = journal.verify()
    assert "snapshot-0000000000000020.bin cannot be used: it is damaged" in flaw
    journal.close()


def test_without_a_usable_snapshot_the_facts_are_enough(tmp_path: Path) -> None:
    directory = closed(tmp_path / "data")
    for path in directory.glob("snapshot*"):
        path.write_bytes(path.read_bytes()[:-3])
    journal = SqliteJournal(directory)
    assert journal.load() == (Region(), 0)
    assert len(journal.read(0, 100)) == RECORDS
    journal.close()


# Verifying


TAMPERINGS: dict[str, tuple[str, ...]] = {
    "UPDATE facts SET body = replace(body, 'vm-4', 'vm-5') WHERE seq = 5": ("Record 5 of the journal is not what",),
    "UPDATE facts SET at = '1999' WHERE seq IN (5, 9)": ("Record 5 of the journal", "Record 9 of the journal"),
    "DELETE FROM facts WHERE seq = 5": ("Record 5 of the journal is missing.",),
    "DELETE FROM facts WHERE seq BETWEEN 5 AND 8": ("Records 5 to 8 of the journal are missing.",),
    "DELETE FROM facts WHERE seq = 1": ("Record 1 of the journal is missing.",),
    "UPDATE facts SET chain = 'x' WHERE seq = 40": ("Record 40 of the journal is not what",),
    "UPDATE facts SET seq = 50 WHERE seq = 40": ("Records 40 to 49 of the journal are missing.",),
}


@pytest.mark.parametrize("statement", TAMPERINGS)
def test_verify_finds_what_was_tampered_with(journal: SqliteJournal, tmp_path: Path, statement: str) -> None:
    assert list(journal.verify()) == []
    with tampering(tmp_path / "data") as connection:
        connection.execute(statement)
    found = list(journal.verify())
    assert len(found) == len(TAMPERINGS[statement])
    assert all(flaw.startswith(start) for flaw, start in zip(found, TAMPERINGS[statement], strict=True))
    assert all(flaw.endswith(".") and not flaw.endswith("..") for flaw in found)


def test_verify_tells_of_a_bad_page_and_goes_on_to_the_snapshots(journal: SqliteJournal, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    append(journal, 3000)
    journal.close()
    (directory / "snapshot-0000000000000010.bin").write_bytes(b"nonsense")
    journal = SqliteJournal(directory)
    with (directory / "journal.sqlite3").open("r+b") as file:
        file.seek(4096 * 20)
        file.write(b"\xa5" * 4096 * 20)
    found = list(journal.verify())
    journal.close()
    assert "is damaged" in found[0]
    assert "snapshot-0000000000000010.bin cannot be used" in found[-1]


# After closing


USES: dict[str, Callable[[SqliteJournal], object]] = {
    "write": lambda journal: append(journal, 1),
    "head": lambda journal: journal.head(),
    "read": lambda journal: journal.read(0, 1),
    "about": lambda journal: journal.about("vm/vm-1", 1),
    "load": lambda journal: journal.load(),
    "snapshot": lambda journal: journal.snapshot(Region(), 1),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_journal_says_so(journal: SqliteJournal, use: str) -> None:
    journal.close()
    with pytest.raises(JournalFault, match=r"journal\.sqlite3 is closed\."):
        USES[use](journal)
