"""``make demo MACHINES=containers|libvirt``: the five stories of the demo, told of real machines while they happen.

    python -m tests.platforms.stories containers|libvirt

The engines are Debian's own, started for this in namespaces of their own: nothing of the machine's own engine, network
or machines is touched, and nothing is left. In each machine runs the product's agent, which prepares and approves.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tests.platforms.docker import agents
from tests.platforms.docker.daemons import CannotRun, daemon
from tests.platforms.libvirt.binding import put_binding
from tests.platforms.libvirt.daemons import two_hosts
from tests.platforms.libvirt.region import MachineRegion, machine_region
from tests.platforms.libvirt.vms import Guest, clear, on_bridge, virsh
from tests.waiting import until

# Real machines live by a real clock, so it is the notices that are short. Preempt has its thirty seconds.
_QUICK = (
    "--notice-user-restart", "5m", "--notice-freeze", "5m", "--notice-user-redeploy", "8s", "--recovery-freeze", "1s",
    "--recovery-user-restart", "1s", "--recovery-user-redeploy", "1s",
)  # fmt: skip
_WHO_WIDTH = 10
_STANDING = {"exited": "off", "created": "off", "shut off": "off", "": "gone"}  # the engines' words for one thing


class Told(Protocol):
    """A machine, by what it says itself."""

    name: str

    def told(self) -> list[str]: ...
    def until(self, words: str, times: int = 1) -> None: ...
    def until_listening(self) -> None: ...


class Region(Protocol):
    """What a person types at, and what the journal holds."""

    def forewarn(self, *words: str) -> str: ...
    def facts(self, *names: str) -> list[dict[str, Any]]: ...


@dataclass
class Stage:
    """Where the stories happen."""

    engine: str
    host: str  # where they begin
    region: Region
    add: Callable[..., Told]  # make a machine by hand, as a person had before forewarn came, and adopt it
    standing: Callable[[str], str]  # what its engine says of it, past forewarn: the power and, if it runs, the host
    machines: dict[str, Told] = field(default_factory=dict)

    def tell(self, who: str, what: str) -> None:
        print(f"  {time.strftime('%H:%M:%S')}  {who:<{_WHO_WIDTH}}{what}", flush=True)

    def ask(self, *words: str) -> None:
        self.tell("operator", f"$ forewarn {' '.join(words)}")
        self.region.forewarn(*words)

    def hears(self, vm: str, words: str, what: str, times: int = 1) -> None:
        """Wait for a line of the machine's own; it is told in its words."""
        self.machines[vm].until(words, times)
        said = [line for line in self.machines[vm].told() if words in line][times - 1]
        self.tell(vm, f"{what}: {' '.join(said.split()[:2])!r}")

    def stands(self, vm: str, what: str) -> None:
        until(lambda: self.standing(vm).split()[0] == what, f"{vm} to be {what}", lambda: self.standing(vm))
        self.tell(self.engine, f"says that {vm} is {self.standing(vm)}")

    def over(self, kind: str, count: int = 1) -> None:
        def ended() -> bool:
            found = [each for each in self.region.facts("ErrandEnded") if each["body"]["kind"] == kind]
            return len(found) >= count

        until(ended, f"{count} times {kind}", lambda: str(self.region.facts("ErrandTried", "ErrandHindered")[-3:]))

    def approvals(self) -> list[str]:
        return [each["body"]["by"] for each in self.region.facts("EventApproved")]


def reboot(stage: Stage) -> None:
    """Reboot: a user restarts web-0, whose agent approves from inside"""
    before = stage.standing("web-0")
    stage.ask("vm", "restart", "web-0")
    stage.hears("web-0", "prepared Reboot", "its agent prepares, then approves with a POST")
    stage.over("restart")
    stage.hears("web-0", "booted", "its memory is new, its disk is not", 2)
    stage.hears("web-0", "restored Reboot", "its agent puts back what it had prepared")
    assert stage.standing("web-0") == before
    assert stage.approvals() == ["web-0"]


def freeze(stage: Stage) -> None:
    """Freeze: a host is maintained, and its machines stand still when all have approved"""
    stage.ask("host", "maintain", stage.host, "--kind", "freeze")
    for vm in ("web-0", "web-1"):
        stage.hears(vm, "prepared Freeze", "its agent prepares, then approves")
    stage.stands("web-1", "paused")
    stage.over("pause", 2)
    stage.stands("web-1", "running")
    stage.hears("web-1", "stood still", "goes on, and its clock tells that it stood")


def redeploy(stage: Stage) -> None:
    """Redeploy: a user redeploys db, which approves nothing; its notice passes"""
    before, asked = stage.standing("db"), len(stage.approvals())
    stage.ask("vm", "redeploy", "db")
    stage.over("redeploy")
    stage.hears("db", "booted", "was started anew", 2)
    stage.stands("db", "running")
    assert stage.standing("db") != before
    assert len(stage.approvals()) == asked


def preempt(stage: Stage) -> None:
    """Preempt: a Spot VM is evicted, with thirty seconds of notice"""
    stage.ask("vm", "evict", "batch")
    stage.hears("batch", "prepared Preempt", "its agent saves what it can")
    stage.over("off")
    stage.stands("batch", "off")


def terminate(stage: Stage) -> None:
    """Terminate: a VM with a terminate notice is deleted, and approves"""
    stage.ask("vm", "delete", "worker")
    stage.hears("worker", "prepared Terminate", "its agent hands its queue over, then approves")
    stage.over("delete")
    stage.stands("worker", "gone")


STORIES = (reboot, freeze, redeploy, preempt, terminate)


def play(stage: Stage) -> int:
    """All of them; the number of those that did not go as they should."""
    for vm in ("web-0", "web-1"):
        stage.machines[vm] = stage.add(vm, stage.host)
    other = "beta" if stage.engine == "libvirt" else agents.HOSTS[1]  # its host would wait for db, which never approves
    stage.machines["db"] = stage.add("db", other, stubborn=True)
    stage.machines["batch"] = stage.add("batch", other, "--spot")
    stage.machines["worker"] = stage.add("worker", other, "--terminate-notice", "5m")
    for vm, machine in stage.machines.items():
        machine.until_listening()
        stage.tell(vm, f"runs ({stage.engine}: {stage.standing(vm)}); its agent has read its document")
    failed = 0
    for story in STORIES:
        print(f"\n{story.__doc__}", flush=True)
        try:
            story(stage)
        except AssertionError as problem:
            failed += 1
            print(f"  ✗ {str(problem).splitlines()[0] if str(problem) else 'it is not so'}", flush=True)
        else:
            print("  ✓", flush=True)
    print(f"\n{len(STORIES) - failed} of {len(STORIES)} stories went as they should.")
    return failed


# Where they are played


@contextmanager
def containers(folder: Path) -> Iterator[Stage]:
    """One dockerd whose containers count at two hosts."""
    numbers = iter(range(10, 100))
    with (
        daemon("dockerd", folder / "engine") as engine,
        agents.container_region(engine, folder, *_QUICK) as region,
    ):

        def add(vm: str, host: str, *words: str, stubborn: bool = False) -> Told:
            return region.run(vm, next(numbers), host, words=words, stubborn=stubborn)

        def standing(vm: str) -> str:
            found = engine.inspect(vm) or {"State": {"Status": ""}}
            state = str(found["State"]["Status"])
            return _STANDING.get(state, f"{state} (container {found.get('Id', '')[:6]})")

        yield Stage("dockerd", agents.HOSTS[0], region, add, standing)


@contextmanager
def libvirt(folder: Path) -> Iterator[Stage]:
    """Two libvirt daemons as two hosts, a node at each, on one PostgreSQL; guests under QEMU's emulation."""
    if why := put_binding(folder):
        raise CannotRun(why)
    numbers = iter(range(10, 100))
    with two_hosts(folder / "hosts") as daemons, machine_region(daemons, folder, folder / "binding", *_QUICK) as region:

        def add(vm: str, host: str, *words: str, stubborn: bool = False) -> Told:
            nic, given = on_bridge(next(numbers))
            guest = Guest(vm, folder, nic, f"{given} stubborn" if stubborn else given)
            guest.start(daemons[host])
            region.adopt(guest, host, *words)
            return guest

        yield Stage("libvirt", "alpha", region, add, partial(_domain_stands, region))
        clear(daemons)


def _domain_stands(region: MachineRegion, vm: str) -> str:
    found = "gone"
    for host, each in region.daemons.items():
        if vm in virsh(each, "list", "--all", "--name").split():
            state = virsh(each, "domstate", vm).strip()
            found = _STANDING.get(state, f"{state} at {host}")
    return found


STAGES = {"containers": containers, "libvirt": libvirt}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="The stories of the demo on real machines.")
    parser.add_argument("machines", choices=sorted(STAGES))
    wanted = parser.parse_args(words).machines
    print(f"A region of five machines ({wanted}); its clock is yours, its notices are short.", flush=True)
    with tempfile.TemporaryDirectory(prefix="fw-", ignore_cleanup_errors=True) as place:
        try:
            with STAGES[wanted](Path(place)) as stage:
                return 1 if play(stage) else 0
        except CannotRun as why:
            print(f"not played: {str(why).splitlines()[0]}")
            return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
