"""How a virtual machine's requests come to the region, and whether another can send them in its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram
from tests.platforms.libvirt.daemons import METADATA, Daemon
from tests.platforms.libvirt.vms import Guest, clear, on_bridge, own_nic, user_networking, virsh
from tests.platforms.serving import approved, forewarn, serving

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def alpha(daemons: dict[str, Daemon]) -> Iterator[Daemon]:
    yield daemons["alpha"]
    clear(daemons)


@pytest.fixture
def server(alpha: Daemon, tmp_path: Path) -> Iterator[ServerProgram]:
    with serving(alpha.inside, tmp_path / "data", f"{METADATA}:80") as made:
        yield made


def test_a_guest_is_known_by_its_address_and_only_a_nic_without_a_filter_can_take_it(
    alpha: Daemon, server: ServerProgram, tmp_path: Path
) -> None:
    """The control, a neighbour without clean-traffic, must succeed: else the guard would have shown nothing."""
    nic, words = on_bridge(10)
    victim = Guest("victim", tmp_path, nic, words)
    forewarn(server, alpha.inside, "vm", "create", "victim", "--address", "192.0.2.10")
    victim.start(alpha)
    victim.until_listening()
    forewarn(server, alpha.inside, "vm", "restart", "victim")
    victim.until("prepared Reboot")
    approved(server, alpha.inside, "victim")

    virsh(alpha, "destroy", "victim")  # nobody defends the address: all that stands in the way is the filter
    forewarn(server, alpha.inside, "vm", "redeploy", "victim")  # something to read, which nobody is there to approve
    thieves = {}
    for number, name in ((66, "guarded"), (67, "careless")):
        nic, words = on_bridge(number, held=name == "guarded")
        thieves[name] = Guest(name, tmp_path, nic, f"{words} steal=192.0.2.10")
        thieves[name].start(alpha)
        thieves[name].until("stole" if name == "careless" else "got nothing")
        virsh(alpha, "destroy", name)
    assert '"Resources":["victim"]' in thieves["careless"].text()
    assert "victim" not in thieves["guarded"].text()


def test_a_guest_with_a_nic_of_its_own_is_known_by_its_socket_whatever_address_it_takes(
    alpha: Daemon, server: ServerProgram, tmp_path: Path
) -> None:
    """Both have the same address and may send anything: what they reach are two sockets in two namespaces."""
    guests = []
    for number, name in ((1, "red"), (2, "blue")):
        nic, words = own_nic(number)
        forewarn(server, alpha.inside, "vm", "create", name, "--netns", f"fw{number}", "--interface", f"fw{number}")
        guests.append(Guest(name, tmp_path, nic, words))
        guests[-1].start(alpha)
    for guest in guests:
        guest.until_listening()
    forewarn(server, alpha.inside, "vm", "restart", "red")
    guests[0].until("prepared Reboot")
    approved(server, alpha.inside, "red")
    virsh(alpha, "destroy", "red")
    virsh(alpha, "start", "red")
    guests[0].until_listening(2)
    assert not any("prepared" in line for line in guests[1].told())


def test_a_guest_of_user_networking_is_known_by_a_socket_that_needs_no_root(
    alpha: Daemon, server: ServerProgram, tmp_path: Path
) -> None:
    """Both have the same address; QEMU hands what each sends to 169.254.169.254 to a socket of its own."""
    guests = []
    for name in ("red", "blue"):
        forewarn(server, alpha.inside, "vm", "create", name, "--unix", name)
        more, words = user_networking(tmp_path / "data/guests" / f"{name}.sock")
        guests.append(Guest(name, tmp_path, words=words, more=more))
        guests[-1].start(alpha)
    for guest in guests:
        guest.until_listening()
    forewarn(server, alpha.inside, "vm", "restart", "red")
    guests[0].until("prepared Reboot")
    approved(server, alpha.inside, "red")
    assert not any("prepared" in line for line in guests[1].told())
