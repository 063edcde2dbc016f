"""Bits that rot in the write-ahead log, and logs that a loss of power leaves: nothing acknowledged is lost silently.

What a log must hold is known from what was acknowledged when it was written; frames are built here from SQLite's own
description of them, not from how the product reads them.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from forewarn.plane.ports import JournalFault
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.unit.stores.directories import append

LOG = "journal.sqlite3-wal"
HEADER, FRAME = 32, 24 + 4096
BLOCKS = 6
SECTOR = 512


def _written(directory: Path, blocks: int = BLOCKS, each: int = 3) -> list[bytes]:
    """The log after each acknowledged block, and in ``directory`` what a killed server leaves."""
    running = directory.with_name("running")
    journal = SqliteJournal(running)
    logs = [(running / LOG).read_bytes()]
    for number in range(blocks):
        append(journal, each, f"block-{number}")
        logs.append((running / LOG).read_bytes())
    shutil.copytree(running, directory)
    journal.close()
    return logs


def _tried(directory: Path, log: bytes, trial: Path) -> int | None:
    """How many records a start on this log finds; None if it refuses, which must leave the log as it is."""
    shutil.rmtree(trial, ignore_errors=True)
    shutil.copytree(directory, trial)
    (trial / f"{LOG[:-4]}-shm").unlink(missing_ok=True)
    (trial / LOG).write_bytes(log)
    try:
        journal = SqliteJournal(trial)
    except JournalFault as fault:
        assert "Nothing was changed; restore" in str(fault)  # noqa: PT017 - a refusal is one of two good outcomes
        assert (trial / LOG).read_bytes() == log
        return None
    found = journal.head()
    assert list(journal.verify()) == []
    journal.close()
    return found


def _flipped(log: bytes) -> Iterator[bytes]:
    """One bit in each region of each frame: page, size, both salts, both checksums, and three places in the page."""
    places = [*range(0, HEADER, 4)]
    for start in range(HEADER, len(log), FRAME):
        places += [start + offset for offset in (3, 7, 8, 12, 16, 20, 24, 24 + 2048, FRAME - 1)]
    chance = random.Random(5)
    for place in places:
        yield log[:place] + bytes([log[place] ^ 1 << chance.randrange(8)]) + log[place + 1 :]


def test_a_flipped_bit_in_the_log_of_a_killed_server_is_refused_or_loses_nothing(tmp_path: Path) -> None:
    log = _written(tmp_path / "data")[-1]
    outcomes = [_tried(tmp_path / "data", flipped, tmp_path / "trial") for flipped in _flipped(log)]
    assert set(outcomes) <= {None, 3 * BLOCKS}
    assert outcomes.count(None) > len(outcomes) // 2


def test_a_flipped_bit_is_refused_without_the_note_too_except_where_it_may_be_a_loss_of_power(tmp_path: Path) -> None:
    """The note may be older than the journal after a loss of power. Then only the last block or two are in question."""
    logs = _written(tmp_path / "data")
    (tmp_path / "data" / "head").unlink()
    outcomes = [_tried(tmp_path / "data", flipped, tmp_path / "trial") for flipped in _flipped(logs[-1])]
    assert set(outcomes) <= {None, 3 * BLOCKS, 3 * (BLOCKS - 1), 3 * (BLOCKS - 2)}
    before_the_last_two = 8 + 9 * (len(logs[-3]) - HEADER) // FRAME
    assert set(outcomes[:before_the_last_two]) <= {None, 3 * BLOCKS}


def test_a_log_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    log = _written(tmp_path / "data")[-1]
    cuts = [0, 7, HEADER, HEADER + 10, *range(HEADER + FRAME - 1, len(log), FRAME // 2)]
    assert {_tried(tmp_path / "data", log[:cut], tmp_path / "trial") for cut in cuts} <= {None, 3 * BLOCKS}


def test_a_log_that_is_gone_is_refused(tmp_path: Path) -> None:
    _written(tmp_path / "data")
    (tmp_path / "data" / LOG).unlink()
    with pytest.raises(JournalFault, match=r"record 18 was committed last, but .* it has lost records"):
        SqliteJournal(tmp_path / "data")


def test_whatever_part_of_an_unacknowledged_block_a_loss_of_power_leaves_the_server_starts(tmp_path: Path) -> None:
    """The block is there whole, or it is not there; what was acknowledged before it always is."""
    logs = _written(tmp_path / "data", blocks=4, each=40)
    before, after = logs[-2], logs[-1]
    (tmp_path / "data" / "head").unlink()
    frames = (len(after) - len(before)) // FRAME
    assert frames >= 3
    chance = random.Random(7)
    for kept in list(product((False, True), repeat=frames))[:32]:
        image = before
        for number, whole in enumerate(kept):
            piece = after[len(before) + number * FRAME : len(before) + (number + 1) * FRAME]
            image += piece if whole else bytes(FRAME)
        assert _tried(tmp_path / "data", image, tmp_path / "trial") == (160 if all(kept) else 120)
    for _ in range(30):
        sectors = bytearray(before) + bytes(len(after) - len(before))
        for sector in range(len(before) // SECTOR, len(after) // SECTOR + 1):
            if chance.random() < 0.7:
                place = slice(max(sector * SECTOR, len(before)), (sector + 1) * SECTOR)
                sectors[place] = after[place]
        whole = sectors == after
        assert _tried(tmp_path / "data", bytes(sectors), tmp_path / "trial") == (160 if whole else 120)


def test_a_log_that_was_begun_anew_starts_with_what_is_left_of_the_one_before_behind_it(tmp_path: Path) -> None:
    """After a checkpoint the frames of the earlier log, with other salts, stand behind those of the new one."""
    running, directory = tmp_path / "running", tmp_path / "data"
    journal = SqliteJournal(running)
    for number in range(20):
        append(journal, 3, f"old-{number}")
    assert journal._writer is not None
    journal._writer.execute("PRAGMA wal_checkpoint(RESTART)")
    long = (running / LOG).stat().st_size
    logs = []
    for number in range(3):
        append(journal, 3, f"new-{number}")
        logs.append((running / LOG).read_bytes())
    assert all(len(log) == long for log in logs)
    shutil.copytree(running, directory)
    journal.close()
    assert _tried(directory, logs[-1], tmp_path / "trial") == 69
    new = HEADER + FRAME * 3
    rotten = bytearray(logs[-1])
    rotten[new - 2000] ^= 4
    assert _tried(directory, bytes(rotten), tmp_path / "trial") in (None, 69)
    (directory / "head").unlink()
    assert _tried(directory, logs[0], tmp_path / "trial") == 63
    torn = bytes(16) + logs[0][16:HEADER] + logs[0][HEADER:]
    assert _tried(directory, torn, tmp_path / "trial") is None


def test_a_log_that_is_all_in_the_file_may_have_lost_its_header(tmp_path: Path) -> None:
    """A new header is written when the old log is not wanted any more: half of one is no loss."""
    running, directory = tmp_path / "running", tmp_path / "data"
    journal = SqliteJournal(running)
    for number in range(5):
        append(journal, 3, f"old-{number}")
    assert journal._writer is not None
    journal._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
    shutil.copytree(running, directory)
    journal.close()
    log = (directory / LOG).read_bytes()
    for cut in (4, 12, 20, 28):
        assert _tried(directory, log[:cut] + b"\x5a" * (HEADER - cut) + log[HEADER:], tmp_path / "trial") == 15
