"""A region in PostgreSQL for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forewarn.stores.postgres.address import PATIENCE, ServerPatience
from tests.contract.shared_regions import InPostgres
from tests.postgres import Server


@pytest.fixture
def patience() -> ServerPatience:
    """Of the nodes in a test; one that wants another is parametrized with it."""
    return PATIENCE


@pytest.fixture
def region(postgres: Server, patience: ServerPatience) -> Iterator[InPostgres]:
    made = InPostgres(postgres, patience)
    yield made
    made.close()
