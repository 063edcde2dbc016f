"""The threat model names tests that exist, and none of its lines is without one."""

from __future__ import annotations

from tests.docs.generate import DOCS
from tests.docs.named_tests import ROOT, missing, names_only_tests, rows

PAGE = (DOCS / "security.md").read_text()


def test_every_line_of_the_threat_model_names_a_test() -> None:
    lines = rows(PAGE, "## What is tried, and what holds")
    assert len(lines) > 50
    for row in lines:
        assert len(row) == 3, row
        assert names_only_tests(row[2]), row


def test_every_test_that_is_named_exists() -> None:
    assert missing(PAGE) == []


def test_a_reader_finds_the_page() -> None:
    assert "docs/security.md" in (ROOT / "README.md").read_text()
    assert "security.md" in (DOCS / "architecture.md").read_text()
