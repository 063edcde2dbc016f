"""Documentation that is made from the code is current, and names only what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.generate import BLOCKS, DOCS, renewed

ROOT = DOCS.parent
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_generated_parts_are_current(page: Path) -> None:
    assert page.read_text() == renewed(page.read_text()), "run `make docs`"


def test_every_generator_is_used() -> None:
    used = set(re.findall(r"<!-- generated: (\w+) -->", "".join(page.read_text() for page in DOCS.glob("*.md"))))

    assert used == set(BLOCKS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
