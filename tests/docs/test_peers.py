"""docs/peers.md: every cell of ours names a file that is there, every cell of theirs a source with version and date."""

from __future__ import annotations

import re

import pytest

from tests.docs.generate import DOCS

PAGE = (DOCS / "peers.md").read_text()
_SOURCE = re.compile(r"\[([A-Z]\d)\]")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose first head this is."""
    (table,) = re.findall(rf"^\| {heading} \|.*?\n\|[-|: ]+\n(.*?)\n\n", PAGE + "\n\n", re.DOTALL | re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


SOURCES = {row[0]: row for row in rows("letter")}


@pytest.mark.parametrize("row", rows("what"), ids=lambda row: row[0])
def test_every_cell_says_where_it_is_from(row: list[str]) -> None:
    what, ours, *theirs = row
    assert len(theirs) == 4
    for target in re.findall(r"\]\(([^)]+)\)", ours):
        assert (DOCS / target).exists(), target
    assert what == "what it is" or "](" in ours, "what shows it?"
    for cell in theirs:
        assert not cell or _SOURCE.search(cell), cell
        assert set(_SOURCE.findall(cell)) <= set(SOURCES)


def test_every_source_has_a_version_and_a_date_and_is_used() -> None:
    for letter, told, version, date in SOURCES.values():
        assert told
        assert re.search(r"\d+\.\d+", version), letter
        assert re.search(r"20\d\d", date), letter
    assert set(_SOURCE.findall(PAGE)) == set(SOURCES)
