"""The lists of durable files and of caches name a test on each line, and each of those exists."""

from __future__ import annotations

import re

import pytest

from forewarn.stores import head_note, lock, sqlite_file
from tests.docs.generate import DOCS
from tests.docs.test_security import ROOT, functions_of
from tests.loss.faults import BEHIND_ITS_BACK, EVERY, SOLE

PAGE = (DOCS / "loss.md").read_text()
LISTS = ("## Every durable file", "## Every cache and memo")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows(title: str) -> list[list[str]]:
    section = PAGE.partition(title)[2].partition("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines[1:]]


@pytest.mark.parametrize("title", LISTS)
def test_every_line_names_one_test(title: str) -> None:
    assert len(rows(title)) > 15
    for row in rows(title):
        assert len(row) == 4, row
        assert _NAMED.fullmatch(row[3]), row


def test_every_test_that_is_named_exists() -> None:
    named = _NAMED.findall(PAGE)
    assert len(named) > 30
    for file, name in named:
        assert (ROOT / file).exists(), file
        assert name in functions_of(ROOT / file), f"{file}::{name}"


def test_the_files_of_a_data_directory_are_all_there() -> None:
    told = " ".join(row[0] for row in rows(LISTS[0]))
    for name in (sqlite_file.NAME, head_note.NAME, lock.NAME, "snapshot-*.bin"):
        assert f"`{name}" in told, name


def test_every_fault_is_told_of() -> None:
    told = PAGE.partition("| fault |")[2].partition("\n\n")[0]
    words = {word.strip(" ;") for row in told.splitlines() for word in re.split("[,;|]| or ", row.partition(" |")[0])}
    for fault in {*EVERY, *SOLE, *BEHIND_ITS_BACK}:
        assert any(word and word in fault for word in words if len(word) > 3), fault
