"""Wheel and sdist, .deb and .rpm, and the container image, each built once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from release import packages
from tests.platforms.docker.daemons import Daemon, daemon, import_archive
from tests.platforms.packages.built import BASE, NAME, build, debian, run


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


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """podman in namespaces of its own, with the image that ``make image`` builds."""
    with daemon("podman", tmp_path_factory.mktemp("image") / "podman", "overlay") as started:
        import_archive(started, debian(), BASE.removeprefix("localhost/"))
        build_it = " ".join([*started.direct(), "build", "--isolation=chroot"])
        run(["bash", "release/image.sh", NAME, BASE], BUILD=build_it)
        yield started
