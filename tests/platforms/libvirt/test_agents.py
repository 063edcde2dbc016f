"""Virtual machines whose own agent approves what is then done to them: two hosts, a node at each, one store."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.libvirt.daemons import BRIDGE, Daemon
from tests.platforms.libvirt.region import MachineRegion, machine_region
from tests.platforms.libvirt.vms import Guest, clear, on_bridge, virsh

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def region(daemons: dict[str, Daemon], binding: Path, tmp_path: Path) -> Iterator[MachineRegion]:
    with machine_region(daemons, tmp_path, binding) as made:
        yield made
        clear(daemons)


def test_guests_approve_from_inside_what_is_then_done_to_them(region: MachineRegion, tmp_path: Path) -> None:
    guests = [Guest(f"web-{number}", tmp_path, *on_bridge(10 + number)) for number in range(3)]
    alpha = region.daemons["alpha"]
    for guest in guests:
        guest.start(alpha)
        region.adopt(guest, "alpha")
    for guest in guests:
        guest.until_listening()
    first, second = guests[:2]

    # Reboot: prepared and approved inside, off by its power button, back with a new memory, and put right again
    region.forewarn("vm", "restart", "web-0")
    first.until("prepared Reboot")
    first.until("booted", 2)
    first.until("restored Reboot")
    region.until_ended(1, "restart")

    # Live migration: it goes on at the other host, with its memory, and its agent is heard by the other node
    region.forewarn("host", "maintain", "alpha", "--kind", "live-migration")
    for guest in guests:
        guest.until("prepared Freeze")
    region.until_ended(3, "migrate")
    for guest in guests:
        region.until_at(guest.name, "beta")
        guest.until("restored Freeze")
        assert region.running(guest.name) == ["beta"]
    assert [sum(line == "booted" for line in guest.told()) for guest in guests] == [2, 1, 1]

    # Freeze, as the guest itself sees it
    region.forewarn("host", "maintain", "beta", "--kind", "freeze")
    second.until("prepared Freeze", 2)
    second.until("stood still")
    region.until_ended(3, "pause")

    # Terminate leaves nothing but a disk, which was its owner's
    assert [len(left) for left in left_at(region, "beta")] == [3, 3, 3]
    region.forewarn("vm", "delete", "web-2")
    region.until_ended(1, "delete")
    assert [len(left) for left in left_at(region, "beta")] == [2, 2, 2]
    assert [len(left) for left in left_at(region, "alpha")] == [0, 0, 0]
    assert guests[2].disk.exists()


def left_at(region: MachineRegion, host: str) -> tuple[list[str], list[str], list[str]]:
    """Domains, taps and bound filters of that host, asked past forewarn."""
    daemon = region.daemons[host]
    domains = virsh(daemon, "list", "--all", "--name").split()
    taps = subprocess.run(
        ["ip", "-n", daemon.namespace, "-o", "link", "show", "master", BRIDGE],
        capture_output=True,
        text=True,
        check=True,
    )
    filters = virsh(daemon, "nwfilter-binding-list").splitlines()[2:]
    return domains, taps.stdout.splitlines(), [line for line in filters if line.strip()]
