"""docs/machines.md, "Under a libvirt that is there already": every line of it, on a daemon with a guest."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.libvirt.daemons import BRIDGE, METADATA, Daemon
from tests.platforms.libvirt.vms import Guest, clear
from tests.platforms.typed import blocks, typist

pytestmark = pytest.mark.timeout(400)
_TITLE = "Under a libvirt that is there already"
_NIC = "<interface type='bridge'><source bridge='virbr0'/><model type='virtio'/>{}</interface>"


@pytest.fixture
def alpha(daemons: dict[str, Daemon]) -> Iterator[Daemon]:
    """A host as libvirt's own network leaves it: a bridge that guests are on, and nothing of forewarn's."""
    here = daemons["alpha"]
    _ip(here, "address", "del", f"{METADATA}/32", "dev", BRIDGE)
    _ip(here, "link", "add", "virbr0", "type", "bridge")
    _ip(here, "address", "add", "192.168.122.1/24", "dev", "virbr0")
    _ip(here, "link", "set", "virbr0", "up")
    yield here
    clear(daemons)
    _ip(here, "link", "del", "virbr0")
    _ip(here, "address", "add", f"{METADATA}/32", "dev", BRIDGE)


def test_every_line_of_the_page_leads_to_a_guest_that_approves(alpha: Daemon, binding: Path, tmp_path: Path) -> None:
    (held,) = [text for language, text in blocks(_TITLE) if language == "xml"]
    guest = Guest("web-0", tmp_path, _NIC.format(held), "net=192.168.122.10/24 gate=192.168.122.1")
    guest.start(alpha)
    guest.until("booted")
    with typist(alpha.inside, tmp_path, PYTHONPATH=str(binding)) as person:
        person.follow(_TITLE)
        guest.until_listening()
        person.type("forewarn vm restart web-0")
        guest.until("prepared Reboot")
        guest.until("booted", 2)
        assert "approved" in person.type("forewarn activity")


def _ip(daemon: Daemon, *words: str) -> None:
    subprocess.run(["ip", "-n", daemon.namespace, *words], check=True)
