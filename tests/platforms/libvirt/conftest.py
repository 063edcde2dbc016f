"""The two hosts that the tests of this folder share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.libvirt.daemons import Daemon, two_hosts

_DEBIANS = Path("/usr/lib/python3/dist-packages")  # where python3-libvirt lies: it is built for Debian's libvirt


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libvirt")


@pytest.fixture(scope="session")
def daemons(folder: Path) -> Iterator[dict[str, Daemon]]:
    """Where this machine cannot run them, the tests count as not run, and in CI as failed."""
    if why := _why_not(folder):
        if os.environ.get("CI"):
            pytest.fail(f"libvirt: {why}")
        pytest.skip(f"libvirt was not run: {why}")
    with two_hosts(folder) as made:
        yield made


def _why_not(folder: Path) -> str:
    """Why the binding cannot be loaded or a namespace made; empty where all is well."""
    if os.geteuid() != 0:
        return "namespaces and a daemon of its own need root"
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    modules = [*_DEBIANS.glob("libvirt*.py"), *_DEBIANS.glob(f"libvirtmod*.{tag}-*.so")]
    if not any(module.suffix == ".so" for module in modules):
        return f"Debian's python3-libvirt is not for this Python ({tag})"
    seen = folder / "binding"  # the binding alone: nothing else of Debian's Python is to be seen
    seen.mkdir()
    for module in modules:
        (seen / module.name).symlink_to(module)
    sys.path.append(str(seen))
    return ""
