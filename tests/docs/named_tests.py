"""Tables of the pages that name, line by line, the test that holds what a line says."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.generate import DOCS

ROOT = DOCS.parent
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows(page: str, title: str) -> list[list[str]]:
    """The cells of each row of the table below a title, without its head."""
    section = page.partition(f"{title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines[1:]]


def names_only_tests(cell: str) -> bool:
    """Whether a cell names at least one test, and says nothing else."""
    return bool(NAMED.search(cell)) and not NAMED.sub("", cell).strip(", ")


def missing(page: str) -> list[str]:
    """The tests that a page names and that are not there."""
    return [f"{file}::{name}" for file, name in NAMED.findall(page) if name not in functions_of(ROOT / file)]


@cache
def functions_of(path: Path) -> frozenset[str]:
    if not path.exists():
        return frozenset()
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
