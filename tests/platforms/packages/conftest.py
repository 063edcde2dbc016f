"""Wheel and sdist, and .deb and .rpm, each built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from release import packages
from tests.platforms.packages.built import build


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two."""
    directory = tmp_path_factory.mktemp("dist")
    build(directory)
    return directory


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(dist: Path) -> Path:
    (found,) = dist.glob("*.tar.gz")
    return found


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with .deb and .rpm of agent and server's unit."""
    directory = tmp_path_factory.mktemp("release")
    packages.build(directory)
    return directory
