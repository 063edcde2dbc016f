"""Virtual machines with the product's agent inside, defined by hand as a person would before forewarn came."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.platforms.libvirt.daemons import BRIDGE, GATE, Daemon
from tests.platforms.libvirt.guest import blank_disk, kernel, with_agent
from tests.waiting import until

_DOMAIN = """<domain type='qemu'{space}><name>{name}</name><uuid>{uuid}</uuid>
<memory unit='MiB'>192</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type><kernel>{kernel}</kernel><initrd>{initrd}</initrd>
<cmdline>console=ttyS0 quiet name={name} {words}</cmdline></os><features><acpi/></features>
<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
<disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='none'/><source file='{disk}'/>
<target dev='vda' bus='virtio'/></disk>{nic}
<serial type='file'><source path='{console}' append='on'/></serial><memballoon model='none'/></devices>{more}
</domain>"""
_TURNS = 3  # of a minute each
_FILTER = "<filterref filter='clean-traffic'><parameter name='IP' value='{}'/></filterref>"
_SPACE = " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'"


def on_bridge(number: int, *, held: bool = True) -> tuple[str, str]:
    """A NIC on the host's bridge with the address of that number: its part of the definition, and the guest's words."""
    address = f"192.0.2.{number}"
    held_by = _FILTER.format(address) if held else ""
    mac = f"52:54:00:00:02:{number:02x}"
    nic = f"<interface type='bridge'><mac address='{mac}'/><source bridge='{BRIDGE}'/><model type='virtio'/>{held_by}"
    return f"{nic}</interface>", f"net={address}/24 gate={GATE}"


def own_nic(number: int) -> tuple[str, str]:
    """A NIC whose tap libvirt's hook puts into a namespace of the same name."""
    mac = f"52:54:00:00:03:{number:02x}"
    nic = f"<interface type='ethernet'><mac address='{mac}'/><target dev='fw{number}'/>"
    return f"{nic}<model type='virtio'/></interface>", "net=169.254.1.2/16"


def user_networking(socket: Path) -> tuple[str, str]:
    """QEMU's own network, without root, as docs/machines.md has it: its part of the definition, the guest's words."""
    netdev = f"user,id=fw,net=169.254.0.0/16,restrict=on,guestfwd=tcp:169.254.169.254:80-cmd:nc -U {socket}"
    words = ("-netdev", netdev, "-device", "virtio-net-pci,netdev=fw,addr=0x10")
    given = "".join(f"<qemu:arg value='{each}'/>" for each in words)
    return f"<qemu:commandline>{given}</qemu:commandline>", "net=169.254.1.2/16"


@dataclass
class Guest:
    """One virtual machine, as its console shows it."""

    name: str
    folder: Path
    nic: str = ""
    words: str = ""
    more: str = ""

    @property
    def console(self) -> Path:
        return self.folder / f"{self.name}.console"

    @property
    def disk(self) -> Path:
        return self.folder / f"{self.name}.qcow2"

    def told(self) -> list[str]:
        """What it said of itself, in order, without its name."""
        if not self.console.exists():
            return []
        lines = self.console.read_text(errors="replace").replace("\r", "").splitlines()
        return [line.partition(f"GUEST {self.name} ")[2].strip() for line in lines if f"GUEST {self.name} " in line]

    def until(self, words: str, times: int = 1) -> None:
        """Wait until it has said so, that often."""
        _patiently(lambda: sum(words in line for line in self.told()) >= times, f"{self.name}: {words}", self.text)

    def until_listening(self, times: int = 1) -> None:
        """Wait until its agent has read its document: from then on it is told of events."""
        what = f"this VM is {self.name}"
        _patiently(lambda: self.text().count(what) >= times, f"{self.name} listens", self.text)

    def text(self) -> str:
        return self.console.read_text(errors="replace") if self.console.exists() else "(no console)"

    def define(self, daemon: Daemon) -> None:
        if not self.disk.exists():
            subprocess.run(["qemu-img", "convert", "-O", "qcow2", str(blank_disk()), str(self.disk)], check=True)
        text = _DOMAIN.format(
            space=_SPACE if self.more else "",
            name=self.name,
            uuid=f"00000000-0000-4000-8000-{zlib.crc32(self.name.encode()):012x}",
            kernel=kernel(),
            initrd=with_agent(),
            words=self.words,
            disk=self.disk,
            nic=self.nic,
            console=self.console,
            more=self.more,
        )
        file = self.folder / f"{self.name}.xml"
        file.write_text(text)
        virsh(daemon, "define", str(file))

    def start(self, daemon: Daemon) -> None:
        self.define(daemon)
        virsh(daemon, "start", self.name)


def _patiently(look: Callable[[], bool], what: str, story: Callable[[], str]) -> None:
    """A guest under emulation boots in ten seconds where a core is free, in minutes where ten others want it."""
    for _ in range(_TURNS - 1):
        with suppress(AssertionError):
            until(look, what)
            return
    until(look, what, story)


def virsh(daemon: Daemon, *words: str) -> str:
    line = ["virsh", "--connect", daemon.host.uri, *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def clear(daemons: dict[str, Daemon]) -> None:
    """No machine is left at any host, whatever a test did, and whatever is still under way there."""
    for daemon in daemons.values():
        until(partial(_is_clear, daemon), f"nothing to be left at {daemon.name}")


def _is_clear(daemon: Daemon) -> bool:
    names = virsh(daemon, "list", "--all", "--name").split()
    for name in names:
        for word in ("destroy", "undefine"):  # either may have happened by itself
            subprocess.run(["virsh", "--connect", daemon.host.uri, word, name], capture_output=True, timeout=60)
    return not names
