"""The two hosts that the tests of this folder share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.libvirt.binding import put_binding
from tests.platforms.libvirt.daemons import Daemon, two_hosts


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libvirt")


@pytest.fixture(scope="session")
def binding(folder: Path, daemons: object) -> Path:
    """Where libvirt's Python binding is, for programs that are started here."""
    return folder / "binding"


@pytest.fixture(scope="session")
def daemons(folder: Path) -> Iterator[dict[str, Daemon]]:
    """Where this machine cannot run them, the tests count as not run, and in CI as failed."""
    if why := put_binding(folder):
        if os.environ.get("CI"):
            pytest.fail(f"libvirt: {why}")
        pytest.skip(f"libvirt was not run: {why}")
    with two_hosts(folder) as made:
        yield made
