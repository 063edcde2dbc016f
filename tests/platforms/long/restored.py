"""Twenty guests of one saved state: frozen together and moved together, while forewarn is killed.

One guest boots and is saved; what was saved is restored twenty times under twenty names. None of them boots after
that, so whoever started one anew would be seen in libvirt's log of it.
"""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

from tests.platforms.libvirt.bench import DOMAIN
from tests.platforms.libvirt.daemons import Daemon
from tests.platforms.libvirt.guest import blank_disk, initramfs, kernel
from tests.platforms.libvirt.region import MachineRegion
from tests.platforms.libvirt.vms import virsh
from tests.platforms.long.kills import comes_to_rest, starts, state
from tests.platforms.long.tally import Tally, early
from tests.waiting import until

COUNT = 20
NAMES = [f"many-{number:02}" for number in range(COUNT)]
_TURNS = 10  # of a minute each: twenty live migrations under emulation, four at a time
_HEADER = 2**20  # bytes of a saved state in which its definition stands; memory follows


def twenty(region: MachineRegion, tally: Tally) -> None:
    """What came of it is a line of the tally."""
    name = f"{COUNT} guests of one saved state, forewarn killed"
    try:
        tally.troubles[name] = f"ok, {_live(region, tally)}"
    except AssertionError as wrong:
        tally.troubles[name] = f"NOT SO: {(str(wrong) or 'an assertion').splitlines()[0]}"
    print(f"{name}: {tally.troubles[name]}", flush=True)


def _live(region: MachineRegion, tally: Tally) -> str:
    alpha = region.daemons["alpha"]
    begun = time.monotonic()
    _restore_all(region, alpha)
    restored = time.monotonic() - begun
    for name in NAMES:
        region.forewarn("machine", "adopt", f"alpha/{name}", "--as", name)
    at, before = len(region.facts()), sum(starts(region, name) for name in NAMES)

    begun = time.monotonic()
    pauses = len(region.ended("pause"))
    region.forewarn("host", "maintain", "alpha", "--kind", "freeze")
    until(lambda: len(_in(alpha, "paused")) > COUNT // 2, "some of them to stand", region.logs)
    region.nodes["alpha"].kill()
    region.start_node("alpha").await_ready()
    _patiently(lambda: len(region.ended("pause")) >= pauses + COUNT, "all pauses to be over", region)
    frozen = time.monotonic() - begun
    tally.forgotten += [f"{each} of {COUNT} guests" for each in _in(alpha, "paused")]

    begun = time.monotonic()
    moves = len(region.ended("migrate"))
    with _Both(region) as both:
        region.forewarn("host", "maintain", "alpha", "--kind", "live-migration")
        _patiently(lambda: len(region.ended("migrate")) >= moves + COUNT // 4, "some of them to be at beta", region)
        region.nodes["alpha"].kill()
        region.start_node("alpha").await_ready()
        _patiently(lambda: set(NAMES) <= set(_in(region.daemons["beta"], "running")), "all to run at beta", region)
    moved = time.monotonic() - begun
    tally.doubled += [f"{each} of {COUNT} guests" for each in sorted(both.seen)]
    for name in NAMES:
        assert comes_to_rest(region, name), f"{name} is not at rest: {region.machine(name)}"
    anew = sum(starts(region, name) for name in NAMES) - before
    tally.twice += [f"of {COUNT} guests {anew} were started anew"] if anew else []
    tally.early += [f"of {COUNT} guests: {each}" for each in early(region.facts()[at:])]

    region.forewarn("vm", "delete", *NAMES)
    _patiently(lambda: not any(state(region.daemons["beta"], name) for name in NAMES), "all to be gone", region)
    return (
        f"restored in {restored:.0f} s, frozen for 9 s and back in {frozen:.0f} s, moved in {moved:.0f} s; "
        f"started anew: {anew}, at both hosts: {len(both.seen)}"
    )


def _restore_all(region: MachineRegion, alpha: Daemon) -> None:
    """By the names in the definition that a saved state begins with: none is longer than the other."""
    first = NAMES[0]
    _define(region, alpha, first)
    virsh(alpha, "start", first)
    console = region.folder / f"{first}.console"
    until(lambda: console.exists() and "UP" in console.read_text(errors="replace"), "the first of them to be up")
    saved = region.folder / "saved"
    virsh(alpha, "save", first, str(saved))
    state_of_first = saved.read_bytes()
    head, memory = state_of_first[:_HEADER], state_of_first[_HEADER:]
    end = head.index(b"</domstatus>") if b"</domstatus>" in head else head.index(b"</domain>")
    for number, name in enumerate(NAMES):
        if name != first:
            _define(region, alpha, name)
        text = head[:end].replace(first.encode(), name.encode()).replace(_uuid(0).encode(), _uuid(number).encode())
        saved.write_bytes(text + head[end:] + memory)
        virsh(alpha, "restore", str(saved))
    saved.unlink()


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-0000000020{number:02}"


def _define(region: MachineRegion, alpha: Daemon, name: str) -> None:
    disk = region.folder / f"{name}.qcow2"
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", str(blank_disk()), str(disk)], check=True)
    console = region.folder / f"{name}.console"
    text = DOMAIN.format(kernel=kernel(), initrd=initramfs("small"), words="", console=console)
    text = text.replace("$name", name).replace("$uuid", _uuid(NAMES.index(name))).replace("$disk", str(disk))
    file: Path = region.folder / f"{name}.xml"
    file.write_text(text)
    virsh(alpha, "define", str(file))


def _in(daemon: Daemon, power: str) -> list[str]:
    return [name for name in virsh(daemon, "list", f"--state-{power}", "--name").split() if name in NAMES]


class _Both:
    """Which of them were seen to run at both hosts. beta, where they go, is asked first: none of them goes back."""

    def __init__(self, region: MachineRegion) -> None:
        self._region, self._ended, self.seen = region, threading.Event(), set[str]()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> _Both:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.5):
            self.seen |= set(_in(self._region.daemons["beta"], "running")) & set(
                _in(self._region.daemons["alpha"], "running")
            )


def _patiently(look: object, what: str, region: MachineRegion) -> None:
    assert callable(look)
    for turn in range(_TURNS):
        try:
            until(look, what, region.logs)
            return
        except AssertionError:
            if turn == _TURNS - 1:
                raise
