"""A disk that does not keep what it was given: no success is told that may go, and no refusal of what may come.

The process that writes is killed at once after what it was told, and started again on a healthy disk.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forewarn.stores.sqlite.journal import SqliteJournal
from tests.loss.watched_disk import Call, WatchedDisk
from tests.unit.stores.directories import fill

LOG, FILE = "*/journal.sqlite3-wal", "*/journal.sqlite3"
WRITER = """
import sys
from pathlib import Path
from forewarn.plane.ports import JournalFault, Uncertain
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.unit.stores.directories import append
journal = SqliteJournal(Path(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    wanted, name = line.split()
    try:
        if wanted == "write":
            append(journal, 2, name)
            print("done", flush=True)
        elif wanted == "checkpoint":
            print(journal._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone(), flush=True)
        else:
            print(repr(journal.ailment()), flush=True)
    except Uncertain as fault:
        print("uncertain", fault, flush=True)
    except JournalFault as fault:
        print("refused", fault, flush=True)
    except Exception as fault:
        print("failed", fault, flush=True)
"""


class Writer:
    """A process with a journal, on a disk whose calls can be made to fail."""

    def __init__(self, process: subprocess.Popen[str], disk: WatchedDisk) -> None:
        self._process = process
        self.disk = disk

    def ask(self, wanted: str, name: str = "-") -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{wanted} {name}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def write(self, name: str) -> str:
        return self.ask("write", name)


@contextmanager
def _writer(tmp_path: Path) -> Iterator[Writer]:
    """It is killed in the end, whatever it was doing."""
    disk = WatchedDisk(tmp_path / "disk", tmp_path / "record", tmp_path / "rules")
    program = [sys.executable, "-c", WRITER, str(tmp_path / "disk" / "data")]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        program, env={**os.environ, **disk.environment()}, stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Writer(process, disk)
        process.kill()


def _found(tmp_path: Path) -> list[str]:
    """The blocks that a healthy start finds, each of them whole."""
    journal = SqliteJournal(tmp_path / "disk" / "data")
    # Only VmCreated is written here
    names = [record.fact.vm.rpartition("-") for record in journal.read(0, 1000)]  # type: ignore[union-attr]
    assert list(journal.verify()) == []
    journal.close()
    blocks = list(dict.fromkeys(name for name, _, _ in names))
    assert [f"{name}-{part}" for name, _, part in names] == [f"{name}-{part}" for name in blocks for part in (0, 1)]
    return blocks


@pytest.fixture(autouse=True)
def _disk(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("pattern", [LOG, "*"])
def test_a_commit_that_was_never_forced_to_the_disk_is_uncertain_and_nothing_is_built_on_it(
    tmp_path: Path, pattern: str, error: int
) -> None:
    with _writer(tmp_path) as writer:
        assert writer.write("before") == "done"
        with writer.disk.striking(Call.SYNC, pattern=pattern, error=error):
            assert writer.write("doubtful").startswith("uncertain The journal ")
            for number in range(3):
                answer = writer.write(f"refused{number}")
                assert answer.startswith("refused The journal ")
                assert "nobody knows what a restart would find there" in answer
            assert "nobody knows what a restart would find there" in writer.ask("ailment")
    assert _found(tmp_path) in (["before"], ["before", "doubtful"])


def test_a_commit_that_fails_once_is_taken_back_before_it_is_refused(tmp_path: Path) -> None:
    with _writer(tmp_path) as writer:
        assert writer.write("before") == "done"
        with writer.disk.striking(Call.SYNC, pattern=LOG, times=1) as strike:
            answer = writer.write("refused")
            assert strike.times == 1
        assert answer.startswith("refused The journal ")
        assert "Nothing was changed" in answer
    assert _found(tmp_path) == ["before"]


def test_a_disk_that_recovers_is_written_again_and_what_was_uncertain_did_not_happen(tmp_path: Path) -> None:
    with _writer(tmp_path) as writer:
        assert writer.write("before") == "done"
        with writer.disk.striking(Call.SYNC):
            assert writer.write("doubtful").startswith("uncertain ")
        assert writer.write("after") == "done"
        assert writer.ask("ailment") == "''"
    assert _found(tmp_path) == ["before", "after"]


@pytest.mark.parametrize("call", [Call.WRITE, Call.TRUNCATE])
def test_where_the_write_ahead_log_cannot_be_emptied_the_answer_is_uncertain(tmp_path: Path, call: Call) -> None:
    with _writer(tmp_path) as writer:
        assert writer.write("before") == "done"
        pattern = FILE if call is Call.WRITE else LOG
        with writer.disk.striking(Call.SYNC, pattern=LOG, times=1), writer.disk.striking(call, pattern=pattern):
            assert writer.write("doubtful").startswith("uncertain ")
            assert writer.write("refused").startswith("refused ")
        assert writer.write("after") == "done"
    assert _found(tmp_path) == ["before", "after"]


def test_a_log_that_cannot_be_written_refuses_and_nothing_comes_of_it(tmp_path: Path) -> None:
    with _writer(tmp_path) as writer:
        assert writer.write("before") == "done"
        for error in (errno.EIO, errno.ENOSPC):
            with writer.disk.striking(Call.WRITE, pattern=LOG, error=error):
                answer = writer.write("refused")
            assert answer.startswith("refused ")
            assert "Nothing was changed" in answer
    assert _found(tmp_path) == ["before"]


@pytest.mark.parametrize("call", [Call.WRITE, Call.SYNC])
def test_a_log_that_cannot_be_folded_into_the_file_takes_nothing_back_that_was_acknowledged(
    tmp_path: Path, call: Call
) -> None:
    with _writer(tmp_path) as writer:
        assert writer.write("before") == "done"
        with writer.disk.striking(call, pattern=FILE):
            assert writer.ask("checkpoint").startswith("failed ")
            assert writer.write("meanwhile") == "done"
        assert writer.write("after") == "done"
    assert _found(tmp_path) == ["before", "meanwhile", "after"]


def test_a_start_syncs_what_an_earlier_server_wrote_but_never_synced_before_it_answers(tmp_path: Path) -> None:
    """A server was killed between writing and forcing: a start writes its log again, and forces it, then answers."""
    disk = tmp_path / "disk" / "data"
    fill(disk, snapshots=()).close()
    with _writer(tmp_path) as writer:
        assert writer.write("before") == "done"
        with writer.disk.striking(Call.SYNC):
            assert writer.write("doubtful").startswith("uncertain ")
    size = (disk / "journal.sqlite3-wal").stat().st_size
    (tmp_path / "record").unlink()
    with _writer(tmp_path) as writer:
        deeds = list(writer.disk.deeds())
    opened, written = dict[int, str](), 0
    for deed in deeds:
        if deed.call is Call.OPEN:
            opened[deed.file] = deed.path
        elif opened.get(deed.file, "").endswith("-wal"):
            if deed.call is Call.WRITE:
                written += len(deed.text)
            elif deed.call is Call.SYNC:
                break
    assert written >= size
