"""Virtual machines behind relays: one on each host, as docs/relays.md has it, and a guest that moves between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_relay import RelayProgram
from tests.platforms.libvirt.daemons import Daemon
from tests.platforms.libvirt.region import MachineRegion
from tests.platforms.libvirt.relays import relayed_region
from tests.platforms.libvirt.vms import Guest, clear, on_bridge
from tests.waiting import until

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def relayed(
    daemons: dict[str, Daemon], binding: Path, tmp_path: Path
) -> Iterator[tuple[MachineRegion, dict[str, RelayProgram]]]:
    with relayed_region(daemons, tmp_path, binding) as made:
        yield made
        clear(daemons)


def test_a_guest_that_moves_goes_on_with_the_relay_of_its_new_host(
    relayed: tuple[MachineRegion, dict[str, RelayProgram]], tmp_path: Path
) -> None:
    """Beside its agent a plain client holds its questions there, and tells each document that it was given."""
    region, relays = relayed
    nic, words = on_bridge(10)
    guest = Guest("web-0", tmp_path, nic, f"{words} followed")
    guest.start(region.daemons["alpha"])
    region.adopt(guest, "alpha")
    guest.until_listening()
    guest.until("read ")

    # Approved at the relay of the host that it leaves; that it is over is heard from the other one
    region.forewarn("host", "maintain", "alpha", "--kind", "live-migration")
    guest.until("prepared Freeze")
    region.until_ended(1, "migrate")
    region.until_at("web-0", "beta")
    guest.until("restored Freeze")
    until(lambda: _read_after_reset(guest), "an answer to what it asked after the move", guest.text)

    # Nobody needs the relay where it was
    relays["alpha"].process.kill()
    region.forewarn("host", "maintain", "beta", "--kind", "freeze")
    guest.until("prepared Freeze", 2)
    guest.until("stood still")
    guest.until("restored Freeze", 2)
    region.until_ended(1, "pause")
    assert region.running("web-0") == ["beta"]
    assert guest.told().count("booted") == 1

    _tells_what_the_journal_tells(guest, region)
    assert relays["beta"].process.poll() is None
    assert not any("Traceback" in each.log.read_text() for each in relays.values())


def _read_after_reset(guest: Guest) -> bool:
    """The question that it held when it moved has ended with a reset, the next one with a document."""
    told = guest.told()
    lost = "lost ConnectionResetError"
    return lost in told and any(line.startswith("read ") for line in told[told.index(lost) :])


def _tells_what_the_journal_tells(guest: Guest, region: MachineRegion) -> None:
    """Each event was read, prepared and approved by the guest, once, in order, and no document was an older one."""
    announced = [fact["body"]["event"]["id"] for fact in region.facts("EventScheduled")]
    approvals = [(fact["body"]["by"], fact["body"]["event_id"]) for fact in region.facts("EventApproved")]
    prepared = [line.split()[-1] for line in guest.told() if line.startswith("prepared")]
    read = [line.split()[1:] for line in guest.told() if line.startswith("read ")]
    incarnations = [int(each[0]) for each in read]
    assert len(announced) == 2
    assert prepared == announced
    assert approvals == [(guest.name, event) for event in announced]
    assert set(announced) <= {event for each in read for event in each[1:]}, f"not all of {announced}: {read}"
    assert incarnations == sorted(incarnations)
