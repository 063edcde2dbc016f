"""What machines, hosts and disks may do, once each: a deaf guest, a hung QEMU, a full disk, a fence that fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from tests.platforms.libvirt.bench import DOMAIN
from tests.platforms.libvirt.guest import initramfs, kernel
from tests.platforms.libvirt.region import MachineRegion, processes_of
from tests.platforms.libvirt.vms import Guest, on_bridge, virsh
from tests.platforms.long.kills import bring_back, comes_to_rest, starts, state
from tests.platforms.long.tally import Tally
from tests.waiting import until

_FENCED_AFTER_SECONDS = 60.0  # ours: five times fence_after of the region, in which a wrong fence would have acted
_MAIN = "web-0"


def all_of_them(region: MachineRegion, tally: Tally) -> None:
    for trouble in (full_disk, fence_fails, deaf, stopped):
        name = (trouble.__doc__ or "").partition(":")[0]
        try:
            tally.troubles[name] = f"ok, {trouble(region)}"
        except AssertionError as wrong:
            tally.troubles[name] = f"NOT SO: {str(wrong).splitlines()[0] if str(wrong) else trouble.__name__}"
        print(f"{name}: {tally.troubles[name]}", flush=True)


def deaf(region: MachineRegion) -> str:
    """a guest that ignores its power button: it is cut off when its grace is over, and started once"""
    nic, words = on_bridge(40)
    guest = Guest("deaf-0", region.folder, nic, f"{words} alone deaf")
    guest.start(region.daemons["beta"])
    guest.until("booted")
    region.adopt(guest, "beta")
    before, begun = starts(region, guest.name), time.monotonic()
    region.forewarn("vm", "restart", guest.name)
    assert comes_to_rest(region, guest.name), f"not at rest: {region.machine(guest.name)}"
    took = time.monotonic() - begun
    assert starts(region, guest.name) - before == 1, "it was not started once"
    region.forewarn("vm", "delete", guest.name)
    until(lambda: not state(region.daemons["beta"], guest.name), f"{guest.name} to be gone")
    return f"restarted once, in {took:.0f} s with a grace of 10 s"


def stopped(region: MachineRegion) -> str:
    """a QEMU that stands under SIGSTOP: it is cut off and started once"""
    before = starts(region)
    for pid in processes_of(region, _MAIN):
        os.kill(pid, signal.SIGSTOP)
    begun = time.monotonic()
    region.forewarn("vm", "restart", _MAIN)
    assert comes_to_rest(region), f"not at rest: {region.machine(_MAIN)}"
    assert starts(region) - before == 1, f"started {starts(region) - before} times"
    return f"restarted once, in {time.monotonic() - begun:.0f} s"


def full_disk(region: MachineRegion) -> str:
    """a full disk under the pool: a machine is not made, the engine says why, and it is made once there is room"""
    filler = region.pool / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(2**16))

    def hindered() -> list[str]:
        facts = region.facts("ErrandHindered", "ErrandGivenUp")
        return [each["body"]["why"] for each in facts if each["body"]["kind"] == "create"]

    try:
        region.forewarn("vm", "create", "job", "--blueprint", "small", "--host", "alpha")
        words = until(hindered, "the engine to say no", region.logs)
        assert state(region.daemons["alpha"], "job") == "", "something of it is there"
    finally:
        filler.unlink()
    for _ in range(3):  # it is tried again after up to a minute
        with suppress(AssertionError):
            until(lambda: state(region.daemons["alpha"], "job") == "running", "it to be made")
            break
    assert state(region.daemons["alpha"], "job") == "running", "it is not made where there is room"
    assert starts(region, "job") == 1, "it was not started once"
    until(lambda: not region.machine("job")["errands"], "it to be known to run", region.logs)
    region.forewarn("vm", "delete", "job")
    until(lambda: not _has(region, "job"), "it to be deleted", region.logs)
    assert [each.name for each in region.pool.iterdir()] == ["base.qcow2"], "a volume is left"
    return f"{words[-1][-40:]!r}; made once when there was room, and nothing left of it when it was deleted"


def fence_fails(region: MachineRegion) -> str:
    """a fence that fails: nothing of the lost host is started elsewhere before it says that the host is off"""
    source = str(region.machine(_MAIN)["host"])
    target = next(host for host in region.daemons if host != source)
    before = starts(region)
    region.daemons[source].lose()  # and its fence goes on failing
    region.nodes[source].kill()

    def tried() -> bool:
        return any(each["body"]["kind"] == "fence" for each in region.facts("ErrandHindered", "ErrandTried"))

    for _ in range(3):
        try:
            until(tried, "the fence to be tried", region.logs)
            break
        except AssertionError:
            continue
    time.sleep(_FENCED_AFTER_SECONDS)
    assert tried(), "its fence was never tried"
    assert state(region.daemons[target]) == "", f"it was started at {target} while nobody knew that {source} was off"
    (region.folder / f"{source}.dead").touch()
    assert comes_to_rest(region), f"not at rest: {region.machine(_MAIN)}"
    assert starts(region) - before == 1, "it was not started once"
    bring_back(region, source)
    assert comes_to_rest(region), f"not at rest: {region.machine(_MAIN)}"
    return f"nothing ran at {target} for {_FENCED_AFTER_SECONDS:.0f} s; started there once when the fence had worked"


def _has(region: MachineRegion, vm: str) -> bool:
    return any(each["name"] == vm for each in json.loads(region.forewarn("vm", "list", "--json")))


def lay_pool(folder: Path) -> Path:
    """A pool on a file system of 4 MiB: before any host is there, so that all see it."""
    pool = folder / "pool"
    pool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(pool)], check=True)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(pool / "base.qcow2"), "1M"], check=True)
    return pool


def open_pool(region: MachineRegion) -> None:
    text = f"<pool type='dir'><name>machines</name><target><path>{region.pool}</path></target></pool>"
    (region.folder / "pool.xml").write_text(text)
    for daemon in region.daemons.values():
        virsh(daemon, "pool-define", str(region.folder / "pool.xml"))
        virsh(daemon, "pool-start", "machines")


def blueprint(folder: Path, pool: Path) -> str:
    """Its table for the region file, and the definition beside it."""
    text = DOMAIN.format(kernel=kernel(), initrd=initramfs("small"), words="", console=folder / "small.console")
    (folder / "small.xml").write_text(text)
    return (
        f'[[blueprint]]\nname = "small"\nengine = "metal"\npool = "machines"\n'
        f'image = "{pool}/base.qcow2"\ndefinition = "{folder}/small.xml"\n'
    )
