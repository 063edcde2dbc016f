"""The library and the model of a disk, by themselves: what they say is what the power cuts believe."""

from __future__ import annotations

import errno
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import clean_environment
from tests.loss.disk_model import replayed
from tests.loss.watched_disk import Call, How, WatchedDisk


@pytest.fixture
def disk(tmp_path: Path) -> WatchedDisk:
    (tmp_path / "root").mkdir()
    return WatchedDisk(tmp_path / "root", tmp_path / "record", tmp_path / "rules")


def run(disk: WatchedDisk, place: Path, script: str) -> str:
    """A program of its own, in the watched directory."""
    done = subprocess.run(
        [sys.executable, "-c", f"import os\n{script}"],
        cwd=place,
        env=clean_environment(**disk.environment()),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def trees(disk: WatchedDisk, tmp_path: Path) -> set[tuple[tuple[str, bytes], ...]]:
    """What a loss of power may leave, by trying often."""
    model = replayed(str((tmp_path / "root").resolve()), disk.deeds())
    found: set[tuple[tuple[str, bytes], ...]] = set()
    for seed in range(60):
        image = tmp_path / f"image-{seed}-{len(found)}"
        image.mkdir()
        model.image(image, random.Random(seed))
        files = (path for path in sorted(image.rglob("*")) if path.is_file())
        found.add(tuple((str(path.relative_to(image)), path.read_bytes()) for path in files))
    return found


WRITE = "f = os.open('a', os.O_WRONLY | os.O_CREAT); os.write(f, b'one')"
SYNC_DIRECTORY = "d = os.open('.', os.O_RDONLY); os.fsync(d)"


def test_what_was_not_synced_may_be_there_or_not(disk: WatchedDisk, tmp_path: Path) -> None:
    run(disk, tmp_path / "root", WRITE)
    assert trees(disk, tmp_path) == {(), (("a", b""),), (("a", b"one"),)}


def test_a_synced_file_needs_a_synced_directory_to_be_found(disk: WatchedDisk, tmp_path: Path) -> None:
    run(disk, tmp_path / "root", f"{WRITE}; os.fsync(f)")
    assert trees(disk, tmp_path) == {(), (("a", b"one"),)}


def test_what_was_synced_with_its_name_is_there(disk: WatchedDisk, tmp_path: Path) -> None:
    run(disk, tmp_path / "root", f"{WRITE}; os.fdatasync(f); {SYNC_DIRECTORY}; os.pwrite(f, b'two', 3)")
    assert trees(disk, tmp_path) == {(("a", b"one"),), (("a", b"onetwo"),)}


def test_a_rename_happens_whole_or_not_at_all(disk: WatchedDisk, tmp_path: Path) -> None:
    run(disk, tmp_path / "root", f"{WRITE}; os.fsync(f); {SYNC_DIRECTORY}; os.replace('a', 'b')")
    assert trees(disk, tmp_path) == {(("a", b"one"),), (("b", b"one"),)}


def test_what_a_failed_sync_lost_no_later_one_makes_certain(disk: WatchedDisk, tmp_path: Path) -> None:
    script = f"""{WRITE}; {SYNC_DIRECTORY}
try:
    os.fsync(f)
except OSError as problem:
    print(problem.errno)
os.fsync(f)"""
    with disk.striking(Call.SYNC, pattern="*/a", times=1) as strike:
        assert run(disk, tmp_path / "root", script) == str(errno.EIO)
        assert strike.times == 1
    assert trees(disk, tmp_path) == {(("a", b""),), (("a", b"one"),)}


def test_a_file_that_was_cut_and_synced_stays_cut(disk: WatchedDisk, tmp_path: Path) -> None:
    run(disk, tmp_path / "root", f"{WRITE}; os.ftruncate(f, 1); os.fsync(f); {SYNC_DIRECTORY}")
    assert trees(disk, tmp_path) == {(("a", b"o"),)}


def test_a_library_that_lies_about_syncs_leaves_them_out(disk: WatchedDisk, tmp_path: Path) -> None:
    with disk.striking(Call.SYNC, how=How.LIE):
        run(disk, tmp_path / "root", f"{WRITE}; os.fsync(f); {SYNC_DIRECTORY}")
    assert () in trees(disk, tmp_path)


@pytest.mark.parametrize(
    ("call", "script"),
    [
        (Call.OPEN, "os.open('a', os.O_RDONLY)"),
        (Call.WRITE, "os.write(f, b'two')"),
        (Call.WRITE, "os.writev(f, [b'two'])"),
        (Call.WRITE, "os.pwrite(f, b'two', 0)"),
        (Call.TRUNCATE, "os.ftruncate(f, 0)"),
        (Call.SYNC, "os.fdatasync(f)"),
        (Call.CLOSE, "os.close(f)"),
        (Call.RENAME, "os.rename('a', 'b')"),
        (Call.UNLINK, "os.unlink('a')"),
        (Call.MKDIR, "os.mkdir('c')"),
    ],
)
def test_every_call_fails_when_it_is_told_to_and_changes_nothing(
    disk: WatchedDisk, tmp_path: Path, call: Call, script: str
) -> None:
    attempt = f"""{WRITE}
open('ready', 'w').close()
try:
    {script}
except OSError as problem:
    print(problem.errno)"""
    after = {Call.OPEN: 2, Call.WRITE: 1, Call.CLOSE: 1}.get(call, 0)  # those of the lines before
    with disk.striking(call, error=errno.ENOSPC, after=after, times=1):
        assert run(disk, tmp_path / "root", attempt) == str(errno.ENOSPC)
    assert (tmp_path / "root" / "a").read_bytes() == b"one"


def test_half_of_a_write_arrives_before_it_fails(disk: WatchedDisk, tmp_path: Path) -> None:
    script = "f = os.open('a', os.O_WRONLY | os.O_CREAT)\ntry:\n    os.write(f, b'1234')\nexcept OSError: print('no')"
    with disk.striking(Call.WRITE, how=How.HALF):
        assert run(disk, tmp_path / "root", script) == "no"
    assert (tmp_path / "root" / "a").read_bytes() == b"12"
