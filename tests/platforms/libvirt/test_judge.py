"""The judge of ``make machines``: it sees a machine that runs twice, and is not misled by a daemon's old files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.platforms.libvirt.daemons import Daemon
from tests.platforms.libvirt.region import MachineRegion, processes_of
from tests.platforms.libvirt.vms import Guest, clear, virsh
from tests.platforms.long.kills import Watch, starts, state
from tests.waiting import until

pytestmark = pytest.mark.timeout(300)


@contextmanager
def watched(daemons: dict[str, Daemon], folder: Path) -> Iterator[tuple[Guest, Watch]]:
    """A guest that runs at alpha, and the judge. No server is needed."""
    region = MachineRegion(daemons, folder, Path(), "")
    guest = Guest("twin-0", folder)
    guest.start(daemons["alpha"])
    try:
        yield guest, Watch(region, guest.name)
    finally:
        clear(daemons)


def test_a_machine_that_runs_at_both_hosts_is_seen(daemons: dict[str, Daemon], tmp_path: Path) -> None:
    with watched(daemons, tmp_path) as (guest, watch):
        assert not watch.is_doubled()
        guest.disk.rename(tmp_path / "first")  # QEMU locks its disk: a copy at a host with other disks has its own
        guest.start(daemons["beta"])
        assert watch.is_doubled()
        assert starts(watch.region, guest.name) >= 2
        virsh(daemons["alpha"], "destroy", guest.name)
        assert not watch.is_doubled()


def test_a_daemon_that_believes_its_old_files_does_not_make_one_of_two(
    daemons: dict[str, Daemon], tmp_path: Path
) -> None:
    """Its host was lost, what stood below ``/run`` was not: for a moment or for half a minute libvirt may say that the
    machine runs there still."""
    with watched(daemons, tmp_path) as (guest, watch):
        alpha = daemons["alpha"]
        alpha.lose()
        until(lambda: not list(processes_of(watch.region, guest.name)), "its QEMU to be gone")
        guest.start(daemons["beta"])
        alpha.start()

        def looked() -> bool:
            assert not watch.is_doubled()
            return state(alpha, guest.name) == "shut off"

        until(looked, "alpha to have looked for it")
        assert not watch.is_doubled()
        assert state(daemons["beta"], guest.name) == "running"
