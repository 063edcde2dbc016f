"""The lists of durable files and of caches name a test on each line, and each of those exists."""

from __future__ import annotations

import re

import pytest

from forewarn.stores import head_note, lock, sqlite_file
from tests.docs.generate import DOCS
from tests.docs.named_tests import NAMED, missing, rows
from tests.loss.faults import BEHIND_ITS_BACK, EVERY, SOLE

PAGE = (DOCS / "loss.md").read_text()
LISTS = ("## Every durable file", "## Every cache and memo")


@pytest.mark.parametrize("title", LISTS)
def test_every_line_names_one_test(title: str) -> None:
    assert len(rows(PAGE, title)) > 15
    for row in rows(PAGE, title):
        assert len(row) == 4, row
        assert NAMED.fullmatch(row[3]), row


def test_every_test_that_is_named_exists() -> None:
    assert len(NAMED.findall(PAGE)) > 30
    assert missing(PAGE) == []


def test_the_files_of_a_data_directory_are_all_there() -> None:
    told = " ".join(row[0] for row in rows(PAGE, LISTS[0]))
    for name in (sqlite_file.NAME, head_note.NAME, lock.NAME, "snapshot-*.bin"):
        assert f"`{name}" in told, name


def test_every_fault_is_told_of() -> None:
    told = PAGE.partition("| fault |")[2].partition("\n\n")[0]
    words = {word.strip(" ;") for row in told.splitlines() for word in re.split("[,;|]| or ", row.partition(" |")[0])}
    for fault in {*EVERY, *SOLE, *BEHIND_ITS_BACK}:
        assert any(word and word in fault for word in words if len(word) > 3), fault
