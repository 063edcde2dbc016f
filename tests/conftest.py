"""What all tests share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres import Server

# The machine is small and busy: how long an example took says nothing about the code. CI must say the same twice.
settings.register_profile("forewarn", deadline=None, derandomize=True)
settings.load_profile("forewarn")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files whose tests may take longest come first: a run over several workers ends with the file that begins last.

    How long they may take is what their ``timeout`` marks say. ``make test`` tells xdist to keep this order; left to
    itself it begins with the files that have most tests, and ends with the longest ones, which have few.
    """
    longest: dict[Path, float] = defaultdict(float)
    for item in items:
        mark = item.get_closest_marker("timeout")
        if mark is not None and mark.args:
            longest[item.path] = max(longest[item.path], mark.args[0])
    items.sort(key=lambda item: -longest[item.path])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL for all tests; each takes a region of its own in it."""
    with Server() as server:
        yield server
