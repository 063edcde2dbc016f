"""The one Windows that the tests of this folder share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.platforms.windows.wine import CannotRun, Windows, made


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Windows]:
    """Where this machine cannot have it, the tests count as not run, and in CI as failed."""
    try:
        made()
    except CannotRun as why:
        if os.environ.get("CI"):
            pytest.fail(str(why))
        pytest.skip(str(why))
    with Windows(tmp_path_factory.mktemp("windows") / "drive").running() as running:
        yield running
