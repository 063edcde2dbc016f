"""The threat model names tests that exist, and none of its lines is without one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.generate import DOCS

PAGE = (DOCS / "security.md").read_text()
ROOT = DOCS.parent
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def lines() -> list[list[str]]:
    """The rows of the table of threats: threat, what we do, what holds it."""
    section = PAGE.partition("## What is tried, and what holds")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_line_of_the_threat_model_names_a_test() -> None:
    assert len(lines()) > 50
    for row in lines():
        assert len(row) == 3, row
        assert _NAMED.search(row[2]), row[0]
        assert not _NAMED.sub("", row[2]).strip(", "), row[2]


def test_every_test_that_is_named_exists() -> None:
    for file, name in _NAMED.findall(PAGE):
        path = ROOT / file
        assert path.exists(), file
        assert name in functions_of(path), f"{file}::{name}"


def test_a_reader_finds_the_page() -> None:
    assert "docs/security.md" in (ROOT / "README.md").read_text()
    assert "security.md" in (DOCS / "architecture.md").read_text()
