"""A container that may send under another's address, and one that may not: the metadata network of docs/machines.md.

What is sent is a UDP packet with a neighbour's source address; forewarn's place is taken by a listener that writes down
who it believes to hear. TCP needs an answer, which goes to the neighbour: see docs/security.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.docker.daemons import Daemon
from tests.waiting import until

pytestmark = pytest.mark.timeout(120)
_HERE, _VICTIM, _ATTACKER = "169.254.169.1", "169.254.169.10", "169.254.169.66"
# Inside the attacker's own network, with the capabilities that its container has: a whole packet, addresses included
_FORGE = """
import socket, struct, sys
source, target = sys.argv[1:]
data = b"I am the victim"
udp = struct.pack("!HHHH", 4000, 4000, 8 + len(data), 0) + data
ends = socket.inet_aton(source) + socket.inet_aton(target)
ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + ends
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
raw.sendto(ip + udp, (target, 0))
"""
_LISTEN = """
import socket, sys
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind((sys.argv[1], 4000))
print("here", flush=True)
while True:
    print(heard.recvfrom(100)[1][0], flush=True)
"""


@pytest.fixture
def network(dockerd: tuple[Daemon, ...]) -> Any:
    (daemon,) = dockerd
    ipam = {"Config": [{"Subnet": "169.254.169.0/24", "Gateway": _HERE}]}
    daemon.do("POST", "/networks/create", body={"Name": "metadata", "Driver": "bridge", "IPAM": ipam})
    yield daemon
    daemon.clear()
    daemon.do("DELETE", "/networks/metadata")


def _run(daemon: Daemon, name: str, address: str, **settings: Any) -> None:
    places = {"EndpointsConfig": {"metadata": {"IPAMConfig": {"IPv4Address": address}}}}
    daemon.run(name, {"HostConfig": {"NetworkMode": "metadata", **settings}, "NetworkingConfig": places})


def _forge(daemon: Daemon, name: str) -> subprocess.CompletedProcess[str]:
    """As the container's first process could: in its network, with its capabilities and no more."""
    pid = (daemon.inspect(name) or {})["State"]["Pid"]
    held = daemon.exec(name, "cat", "/proc/1/status")
    bounding = next(line.split()[1] for line in held.splitlines() if line.startswith("CapBnd"))
    net_raw = int(bounding, 16) >> 13 & 1
    drop = () if net_raw else ("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw")
    command = [*daemon.inside, "nsenter", f"--target={pid}", "--net", "--", *drop, sys.executable, "-c", _FORGE]
    return subprocess.run([*command, _VICTIM, _HERE], capture_output=True, text=True, timeout=60)


def test_only_a_container_that_kept_net_raw_is_taken_for_its_neighbour(network: Daemon, tmp_path: Path) -> None:
    _run(network, "victim", _VICTIM, CapDrop=["NET_RAW"])
    _run(network, "careless", _ATTACKER)
    _run(network, "guarded", "169.254.169.67", CapDrop=["NET_RAW"])
    with (tmp_path / "heard").open("w") as out:
        listener = subprocess.Popen([*network.inside, sys.executable, "-c", _LISTEN, _HERE], stdout=out)
    try:
        until(lambda: "here" in (tmp_path / "heard").read_text())
        refused = _forge(network, "guarded")
        assert refused.returncode != 0
        assert "PermissionError" in refused.stderr
        assert (tmp_path / "heard").read_text() == "here\n"
        control = _forge(network, "careless")
        assert control.returncode == 0, control.stderr
        until(lambda: _VICTIM in (tmp_path / "heard").read_text(), "the forged packet is heard, as the control must")
    finally:
        listener.kill()
        listener.wait()
