"""What the tests of the compute routes share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.web.resource_manager.compute.bench import Bench, open_bench


@pytest.fixture
def anyio_backend() -> str:
    """The plane lives on asyncio."""
    return "asyncio"


@pytest.fixture
async def bench(anyio_backend: str) -> AsyncIterator[Bench]:
    async with open_bench() as opened:
        yield opened
