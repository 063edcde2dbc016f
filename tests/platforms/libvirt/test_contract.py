"""What every engine promises, on libvirt and QEMU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.engines.cases import CASES
from tests.platforms.libvirt.bench import libvirt_bench
from tests.platforms.libvirt.daemons import Daemon, two_hosts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libvirt")


@pytest.fixture(scope="module")
def daemons(folder: Path) -> Iterator[dict[str, Daemon]]:
    with two_hosts(folder) as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_an_engine_keeps_its_promises(name: str, daemons: dict[str, Daemon], folder: Path) -> None:
    with libvirt_bench(daemons, folder) as bench:
        if why_not := CASES[name].why_not(bench):
            pytest.skip(why_not)
        CASES[name].check(bench)
