"""Two libvirt daemons as two hosts: each with a network, a host name, a state and files of its own.

A host is a network namespace and, inside, a mount and a UTS namespace: libvirt refuses to migrate to a host of the same
name or UUID. Nothing of the machine's own libvirt is touched, and ending a host's processes ends all that ran there.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from forewarn.engines.libvirt.hosts import LibvirtHost
from tests.platforms.libvirt.guest import filters
from tests.waiting import until

NAMES = ("alpha", "beta")
_UUIDS = {"alpha": "6f1d6a3c-0d5e-4c55-9c7e-0d0c5f1a0a01", "beta": "6f1d6a3c-0d5e-4c55-9c7e-0d0c5f1a0b02"}
_ADDRESSES = {"alpha": "198.51.100.1", "beta": "198.51.100.2"}  # RFC 5737, on a wire between the two namespaces only
HOOK = Path(__file__).with_name("hook")  # the one of docs/machines.md, for NICs of their own
BRIDGE = "br0"  # where guests are, at each host: not connected to each other, as libvirt's own networks are not
GATE = "192.0.2.1"  # RFC 5737; the host's own address there, through which a guest sends all else
METADATA = "169.254.169.254"
_MAC = "02:00:5e:00:00:fe"  # of the bridge, one for all hosts: a guest that moved goes on with what it knows
_QEMU_CONF = """security_driver = "none"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
seccomp_sandbox = 0
"""
_ENTER = """set -e
hostname {name}
mkdir -p /etc/libvirt /var/lib/libvirt /var/cache/libvirt /run/libvirt /var/log/libvirt
mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns
mount --bind {folder}/lib /var/lib/libvirt
mount --bind {folder}/cache /var/cache/libvirt
mount --bind {folder}/run /run/libvirt
mount --bind {folder}/log /var/log/libvirt
mount --bind {folder}/etc /etc/libvirt
mount --bind {folder}/passwd /etc/passwd
mount --bind {folder}/group /etc/group
ip link set lo up
exec /usr/sbin/libvirtd -f {folder}/libvirtd.conf -p {folder}/pid
"""


@dataclass
class Daemon:
    """One host."""

    name: str
    folder: Path
    namespace: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> LibvirtHost:
        uri = f"qemu+unix:///system?socket={self.folder}/run/libvirt-sock"
        return LibvirtHost(self.name, uri, migrate_uri=f"tcp://{_ADDRESSES[self.name]}")

    def start(self) -> None:
        """Also after it was killed: it finds the machines that went on without it."""
        words = ["ip", "netns", "exec", self.namespace, "unshare", "--mount", "--uts", "bash", "-c"]
        script = _ENTER.format(name=self.name, folder=self.folder)
        (self.folder / "run/libvirt-sock").unlink(missing_ok=True)
        with (self.folder / "out").open("ab") as out:
            self.process = subprocess.Popen([*words, script], stdout=out, stderr=out, start_new_session=True)
        until((self.folder / "run/libvirt-sock").exists, f"the daemon of {self.name}")

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command begins with that is to run at this host: with its network, and its names of namespaces."""
        pid = (self.folder / "pid").read_text().strip()
        return ("nsenter", f"--target={pid}", "--net", "--mount", "--")

    def kill(self) -> None:
        """The daemon alone: its machines go on."""
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
        if self.process is not None:
            self.process.wait(timeout=30)

    def pids(self) -> set[int]:
        """All that runs at this host: in its network namespace."""
        told = subprocess.run(["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=True)
        return {int(pid) for pid in told.stdout.split()}

    def lose(self) -> None:
        """The whole host: everything there dies at once."""
        for pid in self.pids():
            with suppress(ProcessLookupError):  # it may have ended with another
                os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait(timeout=30)


def _prepared(name: str, folder: Path) -> None:
    for each in ("etc", "run", "lib", "cache", "log"):
        (folder / each).mkdir(parents=True)
    (folder / "etc/qemu.conf").write_text(_QEMU_CONF)
    shutil.copytree(filters(), folder / "etc/nwfilter")
    (folder / "etc/hooks").mkdir()
    shutil.copy(HOOK, folder / "etc/hooks/qemu")
    (folder / "libvirtd.conf").write_text(
        f'host_uuid = "{_UUIDS[name]}"\nunix_sock_dir = "{folder}/run"\nauth_unix_rw = "none"\n'
    )
    # libvirt looks these up by name, whether it uses them or not; the machine's own lists stay as they are
    (folder / "passwd").write_text(
        Path("/etc/passwd").read_text() + "libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n"
    )
    groups = "libvirt-qemu:x:64055:\nkvm:x:64056:\nlibvirt:x:64057:\n"
    (folder / "group").write_text(Path("/etc/group").read_text() + groups)


@contextmanager
def two_hosts(folder: Path) -> Iterator[dict[str, Daemon]]:
    """alpha and beta, with a wire between them. All that runs there ends with the block."""
    made = {name: Daemon(name, folder / name, f"fw{os.getpid()}{name}") for name in NAMES}
    with ExitStack() as stack:
        for daemon in made.values():
            _prepared(daemon.name, daemon.folder)
            _run("ip", "netns", "add", daemon.namespace)
            stack.callback(_run, "ip", "netns", "del", daemon.namespace)
            stack.callback(daemon.lose)
        alpha, beta = (made[name].namespace for name in NAMES)
        _run("ip", "-n", alpha, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", beta)
        for daemon in made.values():
            address = f"{_ADDRESSES[daemon.name]}/24"
            _run("ip", "-n", daemon.namespace, "address", "add", address, "dev", "wire")
            _run("ip", "-n", daemon.namespace, "link", "set", "wire", "up")
            _lay_bridge(daemon.namespace)
            daemon.start()
        yield made


def _lay_bridge(namespace: str) -> None:
    _run("ip", "-n", namespace, "link", "add", BRIDGE, "type", "bridge")
    _run("ip", "-n", namespace, "link", "set", BRIDGE, "address", _MAC, "up")
    for address in (f"{GATE}/24", f"{METADATA}/32"):
        _run("ip", "-n", namespace, "address", "add", address, "dev", BRIDGE)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdout=sys.stderr)
