"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import Server

# The machine is small and busy: how long an example took says nothing about the code. CI must say the same twice.
settings.register_profile("forewarn", deadline=None, derandomize=True)
settings.load_profile("forewarn")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL for all tests; each takes a region of its own in it."""
    with Server() as server:
        yield server
