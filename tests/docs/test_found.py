"""The page of findings has a line for each, in order, and each line names tests that exist."""

from __future__ import annotations

import re

from tests.docs.generate import DOCS
from tests.docs.named_tests import ROOT, missing, names_only_tests, rows

PAGE = (DOCS / "found.md").read_text()
TITLES = re.findall(r"^## .*", PAGE, re.MULTILINE)


def test_every_finding_has_one_line_with_its_tests() -> None:
    lines = [row for title in TITLES for row in rows(PAGE, title)]
    assert len(lines) >= 25
    for row in lines:
        assert len(row) == 3, row
        assert re.match(r"F-\d\d: ", row[0]), row
        assert names_only_tests(row[2]), row
    ids = [row[0][:4] for row in lines]
    assert len(ids) == len(set(ids))


def test_every_section_is_in_the_order_of_ids() -> None:
    for title in TITLES:
        ids = [row[0][:4] for row in rows(PAGE, title)]
        assert ids == sorted(ids), title


def test_every_test_that_is_named_exists() -> None:
    assert missing(PAGE) == []


def test_a_reader_finds_the_page() -> None:
    assert "docs/found.md" in (ROOT / "README.md").read_text()
    assert "found.md" in (DOCS / "loss.md").read_text()
    assert "found.md" in (DOCS / "security.md").read_text()
