"""What the stories of the core share."""

from __future__ import annotations

import pytest

from tests.unit.core.world import World


@pytest.fixture
def world() -> World:
    """An empty region at noon, with the default rules and simulated impacts."""
    return World()
