"""The contract suite's bench on two real daemons. What is true is asked of ``virsh``, past the engine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from forewarn.core.machines.values import MachinePower
from forewarn.engines.libvirt.engine import LibvirtEngine
from forewarn.engines.libvirt.making import LibvirtBlueprint
from forewarn.plane.hands.engine import Engine
from tests.contract.engines.bench import Copy
from tests.platforms.libvirt.daemons import NAMES, Daemon
from tests.platforms.libvirt.guest import initramfs, kernel
from tests.waiting import until

DOMAIN = """<domain type='qemu'><name>$name</name><uuid>$uuid</uuid><memory unit='MiB'>96</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type><kernel>{kernel}</kernel><initrd>{initrd}</initrd>
<cmdline>console=ttyS0 quiet {words}</cmdline></os><features><acpi/></features>
<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
<disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='none'/><source file='$disk'/>
<target dev='vda' bus='virtio'/></disk>
<serial type='file'><source path='{console}' append='on'/></serial>
<memballoon model='none'/></devices></domain>"""
_STATES = {"running": MachinePower.RUNNING, "paused": MachinePower.PAUSED, "shut off": MachinePower.OFF}


class LibvirtBench:
    """Machines without a network: what is promised here needs none."""

    hosts: tuple[str, ...] = NAMES
    blueprint: str = "small"
    lacks: frozenset[str] = frozenset(
        {"answer lost", "hangs", "refused", "refused for good", "silent host", "slow migration"}
    )

    def __init__(self, daemons: dict[str, Daemon], folder: Path) -> None:
        self._daemons = daemons
        self._folder = folder
        self._made = 0
        text = DOMAIN.format(kernel=kernel(), initrd=initramfs("small"), words="", console=folder / "console")
        self.plan = LibvirtBlueprint("small", text, "machines", str(folder / "pool/base.qcow2"))
        self.engine: Engine = self.fresh_engine()

    def fresh_engine(self) -> LibvirtEngine:
        """As after a crash: it remembers nothing."""
        blueprints = {"small": self.plan}
        hosts = [each.host for each in self._daemons.values()]
        return LibvirtEngine("metal", hosts, time.monotonic, blueprints, disks_are_shared=True)

    def make(self, name: str, host: str) -> Copy:
        made = self._define(name, host)
        volume = f"machines/{name}-{self._made}.qcow2"
        stamp = f"<machine vm='{name}' disks='{volume}'/>"
        words = ["--uri", "urn:forewarn:machine:1", "--key", "forewarn", "--set", stamp, "--config", "--live"]
        self.virsh(host, "metadata", name, *words)
        self.virsh(host, "pool-refresh", "machines")
        return made

    def make_stranger(self, host: str) -> Copy:
        return self._define("stranger", host)

    def _define(self, name: str, host: str) -> Copy:
        """A machine with a disk that was made by hand, defined and started by hand."""
        self._made += 1
        disk = self._folder / f"pool/{name}-{self._made}.qcow2"
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(disk), "1M"], check=True)
        uuid = f"00000000-0000-4000-8000-{self._made:012x}"
        text = self.plan.definition.replace("$name", name).replace("$uuid", uuid).replace("$disk", str(disk))
        file = self._folder / f"{name}.xml"
        file.write_text(text)
        self.virsh(host, "define", str(file))
        self.virsh(host, "start", name)
        (copy,) = self.truth(name)
        return copy

    def truth(self, ref: str) -> tuple[Copy, ...]:
        return tuple(copy for host in self.hosts if (copy := self._copy(ref, host)) is not None)

    def _copy(self, ref: str, host: str) -> Copy | None:
        listed = self.virsh(host, "list", "--all", "--name").split()
        if ref not in listed:
            return None
        power = _STATES[self.virsh(host, "domstate", ref).strip()]
        if power is MachinePower.OFF:
            return Copy(ref, host, power, "")
        root = ElementTree.fromstring(self.virsh(host, "dumpxml", ref))
        stamp = root.find("./metadata/{urn:forewarn:machine:1}machine")
        given = {} if stamp is None else stamp.attrib
        if given.get("mark") and given.get("to") == host:
            return Copy(ref, host, power, given["mark"])
        return Copy(ref, host, power, f"{given.get('errand', 'by-hand')}@{host}#{root.get('id')}")

    def left_of(self, ref: str) -> tuple[str, ...]:
        return tuple(sorted(each.name for each in (self._folder / "pool").glob(f"{ref}-*")))

    def do(self, what: str, ref: str, host: str) -> None:
        match what:
            case "stop":
                self.virsh(host, "destroy", ref)
            case "boot":
                self.virsh(host, "start", ref)
            case "remove":
                self.virsh(host, "destroy", ref)
                self.virsh(host, "undefine", ref)
            case "crash":
                self._kill_process(ref, host)
                until(lambda: self.virsh(host, "domstate", ref).strip() == "shut off", "the guest to crash")
            case "shutdown from inside":
                self.wait_for_guest()
                self.virsh(host, "shutdown", ref)
                until(lambda: self.virsh(host, "domstate", ref).strip() == "shut off", "the guest to go off")
            case _:
                raise ValueError(what)

    def _kill_process(self, ref: str, host: str) -> None:
        """QEMU's own, by the name that libvirt gives it."""
        pids = subprocess.run(["ip", "netns", "pids", self._daemons[host].namespace], capture_output=True, text=True)
        for pid in pids.stdout.split():
            if f"guest={ref}," in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(int(pid), signal.SIGKILL)

    def wait_for_guest(self) -> None:
        console = self._folder / "console"
        until(lambda: console.exists() and "UP" in console.read_text(errors="replace"), "the guest to be up")

    def mishap(self, what: str, sentence: str = "") -> None:
        raise NotImplementedError(what)  # all are in lacks

    def wait(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.5))

    def virsh(self, host: str, *words: str) -> str:
        line = ["virsh", "--connect", self._daemons[host].host.uri, *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def clear(self) -> None:
        """No machine and no volume is left, whatever a test did."""
        self.engine.close()
        for host in self.hosts:
            for name in self.virsh(host, "list", "--name").split():
                self.virsh(host, "destroy", name)
            for name in self.virsh(host, "list", "--all", "--name").split():
                self.virsh(host, "undefine", name)
        for file in (self._folder / "pool").iterdir():
            if file.name != "base.qcow2":
                file.unlink()
        for host in self.hosts:
            self.virsh(host, "pool-refresh", "machines")
        (self._folder / "console").unlink(missing_ok=True)


@contextmanager
def libvirt_bench(daemons: dict[str, Daemon], folder: Path) -> Iterator[LibvirtBench]:
    """A bench, with a pool that both hosts see: a folder, as a shared file system would be."""
    pool = folder / "pool"
    if not pool.exists():
        pool.mkdir()
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(pool / "base.qcow2"), "1M"], check=True)
        text = f"<pool type='dir'><name>machines</name><target><path>{pool}</path></target></pool>"
        (folder / "pool.xml").write_text(text)
        for daemon in daemons.values():
            for words in (["pool-define", str(folder / "pool.xml")], ["pool-start", "machines"]):
                subprocess.run(["virsh", "-q", "--connect", daemon.host.uri, *words], check=True)
    bench = LibvirtBench(daemons, folder)
    try:
        yield bench
    finally:
        bench.clear()
