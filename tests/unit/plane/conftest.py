"""What the tests of the plane share."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The plane lives on asyncio."""
    return "asyncio"
