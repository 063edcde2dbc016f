"""``qemu:///session``: a person without root has libvirt, a guest whose agent approves, and forewarn under it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram
from tests.platforms.libvirt.session import USER, Session, give, session
from tests.platforms.libvirt.vms import Guest, user_networking, virsh
from tests.platforms.serving import approved, facts, forewarn, launch
from tests.waiting import until

pytestmark = pytest.mark.timeout(400)
_REGION = """[[engine]]
name = "own"
kind = "libvirt"
node = "laptop"

[[host]]
name = "laptop"
engine = "own"
uri = "{uri}"
added = true
"""


@pytest.fixture
def laptop(binding: Path) -> Iterator[Session]:
    with session() as made:
        shutil.copytree(binding, made.folder / "binding", symlinks=True)
        yield made


@pytest.fixture
def server(laptop: Session) -> Iterator[ServerProgram]:
    config = laptop.folder / "region.toml"
    config.write_text(_REGION.format(uri=laptop.host.uri))
    options = ("--config", config, "--recovery-user-restart", "3s")
    path = str(laptop.folder / "binding")
    made = launch(laptop.inside, laptop.folder / "data", "127.0.0.1:0", *options, PYTHONPATH=path)
    try:
        made.await_ready()
        yield made
    finally:
        made.kill()
        made.close()


def test_a_guest_of_a_session_approves_what_forewarn_of_the_same_user_then_does_to_it(
    laptop: Session, server: ServerProgram
) -> None:
    more, words = user_networking(laptop.folder / "data/guests/web-0.sock")
    guest = Guest("web-0", laptop.folder, words=words, more=more)
    guest.define(laptop)
    give(guest.disk)
    virsh(laptop, "start", "web-0")
    forewarn(server, laptop.inside, "machine", "adopt", "laptop/web-0", "--way", "unix")
    forewarn(server, laptop.inside, "machine", "check", "web-0")  # its identity is safe, or the status would be 1
    guest.until_listening()
    assert _rights(server.process.pid) == _rights(_qemu(laptop)) == (USER, 0)

    forewarn(server, laptop.inside, "vm", "restart", "web-0")
    guest.until("prepared Reboot")
    approved(server, laptop.inside, "web-0")
    guest.until("booted", 2)
    guest.until("restored Reboot")
    until(lambda: _ended(laptop, server), "the restart to be over", server.log.read_text)
    virsh(laptop, "destroy", "web-0")


def _ended(laptop: Session, server: ServerProgram) -> bool:
    """Whether one restart was asked of libvirt, and it was seen to be done."""
    made = [fact["body"]["errand"] for fact in facts(server, laptop.inside, "ErrandMade")]
    (restart,) = [errand["id"] for errand in made if errand["kind"] == "restart"]
    return restart in [fact["body"]["errand_id"] for fact in facts(server, laptop.inside, "ErrandEnded")]


def _qemu(laptop: Session) -> int:
    found = subprocess.run(["ip", "netns", "pids", laptop.namespace], capture_output=True, text=True, check=True)
    (pid,) = [pid for pid in found.stdout.split() if "guest=web-0," in Path(f"/proc/{pid}/cmdline").read_text()]
    return int(pid)


def _rights(pid: int) -> tuple[int, int]:
    """Who it is to the kernel, and what it may do beyond that: a set of bits."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    told = {words[0]: words[1:] for words in lines if words}
    (user,) = set(told["Uid:"])
    return int(user), int(told["CapPrm:"][0], 16)
