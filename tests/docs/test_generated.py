"""Documentation that is made from the code is current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.generate import BLOCKS, DOCS, renewed


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_generated_parts_are_current(page: Path) -> None:
    assert page.read_text() == renewed(page.read_text()), "run `make docs`"


def test_every_generator_is_used() -> None:
    used = set(re.findall(r"<!-- generated: (\w+) -->", "".join(page.read_text() for page in DOCS.glob("*.md"))))

    assert used == set(BLOCKS)
