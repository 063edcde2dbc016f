"""One bit of any durable file turns: everything that was acknowledged is there, or the start is refused."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from forewarn.core.region import Region
from forewarn.guest.agent.keeping.journal import AgentJournal
from forewarn.guest.system import this_machine
from forewarn.plane.ports import Entry, JournalFault, Origin
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.loss.durables import AgentsJournal
from tests.loss.file_faults import flip, of_flipped, records_in
from tests.unit.stores.examples import entries

MACHINE = this_machine()

BLOCKS = 30
FLIPS = 150


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """What a server leaves that is killed: a file, a log with most of the records, a note, snapshots, a lock."""
    journal = SqliteJournal(tmp_path / "data")
    try:
        for number in range(BLOCKS):
            with journal.write() as transaction:
                new = entries(2, f"vm-{number}", Origin("test", "", f"request-{number}"))
                transaction.append([Entry(each.fact, "Command", each.origin) for each in new])
            if number in (10, 20):
                journal.snapshot(Region(), journal.head())
        return shutil.copytree(tmp_path / "data", tmp_path / "left")
    finally:
        journal.close()


def test_a_turned_bit_in_any_file_of_a_journal_is_harmless_or_refused(left: Path, tmp_path: Path) -> None:
    chance = random.Random(20261101)
    whole = shutil.copytree(left, tmp_path / "whole")
    truth = records_in(whole)
    acknowledged = {f"request-{number}" for number in range(BLOCKS)}
    struck, refused = Counter[str](), Counter[str]()
    for number in range(FLIPS):
        copy = shutil.copytree(left, tmp_path / f"flipped-{number}")
        told = flip(copy, chance)
        name = told.split()[-3]
        struck[name] += 1
        assert of_flipped(copy, truth, acknowledged) == "", told
        try:
            records_in(copy)
        except JournalFault:
            refused[name] += 1
        shutil.rmtree(copy)
    assert struck["journal.sqlite3-wal"] > 10
    assert refused["journal.sqlite3-wal"] > 5, "the log's damage is not what is found"


def test_a_turned_bit_in_the_agents_journal_is_said(tmp_path: Path) -> None:
    """It goes on with what it could read, keeps the file, and says so: not to restore would be worse."""
    chance = random.Random(1)
    journal = AgentsJournal(tmp_path)
    for number in range(2):
        journal.change(number)
    journal.close()
    directory = tmp_path / "agent"
    (directory / "lock").unlink()
    for number in range(60):
        copy = shutil.copytree(directory, tmp_path / f"flipped-{number}")
        told = flip(copy, chance)
        found = AgentJournal(MACHINE.files, copy)
        found.close()
        runs = [effect.run for effect in found.state.effects]
        assert runs == [0, 1] or found.spoiled, told
