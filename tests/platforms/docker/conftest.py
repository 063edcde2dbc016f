"""The engines that the tests of this folder share: one dockerd, two podmans, for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.platforms.docker.daemons import CannotRun, Daemon, daemon


def _started(kind: str, count: int, room: Path) -> Iterator[tuple[Daemon, ...]]:
    """Where this machine cannot run them, the tests count as not run, and in CI as failed."""
    with ExitStack() as all_of_them:
        try:
            made = tuple(all_of_them.enter_context(daemon(kind, room / f"{kind}-{each}")) for each in range(count))
        except CannotRun as why:
            if os.environ.get("CI"):
                pytest.fail(f"{kind}: {why}")
            pytest.skip(f"{kind} was not run: {why}")
        yield made


@pytest.fixture(scope="session")
def dockerd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, ...]]:
    """One, which stands for two hosts."""
    yield from _started("dockerd", 1, tmp_path_factory.mktemp("engines"))


@pytest.fixture(scope="session")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, ...]]:
    """Two, each a host of its own."""
    yield from _started("podman", 2, tmp_path_factory.mktemp("engines"))
