"""What every engine promises, on libvirt and QEMU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.engines.cases import CASES
from tests.platforms.libvirt.bench import libvirt_bench
from tests.platforms.libvirt.daemons import Daemon

pytestmark = pytest.mark.timeout(300)
# The core, and what a real guest does by itself; the rest is proved where machines cost nothing
NAMES = [name for name, case in CASES.items() if case.core or case.mishaps & {"crash", "shutdown from inside"}]


@pytest.mark.parametrize("name", NAMES)
def test_an_engine_keeps_its_promises(name: str, daemons: dict[str, Daemon], folder: Path) -> None:
    with libvirt_bench(daemons, folder) as bench:
        if why_not := CASES[name].why_not(bench):
            pytest.skip(why_not)
        CASES[name].check(bench)
