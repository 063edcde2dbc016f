"""One virtual machine, one thing that is asked for, one victim that is killed with signal 9 some time later.

Victims: forewarn at the machine's host, libvirt's daemon at the source or at the target, QEMU, the QEMU at the target
that a migration goes to, or the whole host with all that runs there. What was killed is started again, as a service
manager would, a host when its machine is back elsewhere. All the while QEMU's processes are counted, and the daemons
are asked which of two runs. How often it was started is read from libvirt's own log of it, which has a line for each
QEMU, those that wait for a migration apart.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.platforms.libvirt.daemons import Daemon
from tests.platforms.libvirt.region import MachineRegion, kill_process, processes_of
from tests.platforms.long.tally import Tally, early
from tests.waiting import until

NAME = "web-0"
INSTANTS = (0.1, 0.4, 1.0, 2.0, 4.0)  # seconds after it was asked for: all of it takes some five
_BOOTS = ("restart", "redeploy")
LOSES_MEMORY = ("qemu", "qemu-target", "host")
_TAKEN_BACK = re.compile(r"shutting down, reason=(failed|daemon)$", re.M)  # as libvirt 9.0 writes it
_TURNS = 5  # of a minute each: a node is missed after a minute, its host silent and fenced after that


@dataclass
class Watch:
    """Looks for a second copy, past forewarn, until it is told to end."""

    region: MachineRegion
    name: str = NAME
    seen_at_both: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.ended.wait(0.2):
            if self.is_doubled():
                self.seen_at_both = True

    def is_doubled(self) -> bool:
        """Whether two copies run now.

        A daemon that was started anew believes its files until it has looked for the process, so QEMU's processes are
        what counts. A live migration has two: of these the daemons say which one runs.
        """
        processes = list(processes_of(self.region, self.name))
        if len(processes) < 2:
            return False
        if sum(_is_started(each) for each in processes) > 1:
            return True
        return [state(daemon, self.name) for daemon in self.region.daemons.values()].count("running") > 1


def _is_started(pid: int) -> bool:
    """Whether this QEMU was started to run, and not to take over what another sends it."""
    try:
        return b"\0-incoming\0" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


def state(daemon: Daemon, name: str = NAME) -> str:
    """As libvirt says it; empty where it has no such machine, or does not answer."""
    line = ["virsh", "--connect", daemon.host.uri, "domstate", name]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def starts(region: MachineRegion, name: str = NAME) -> int:
    """How often QEMU was started for it, at all hosts. Neither those that a migration was to come to count, nor those
    that libvirt itself took back: a start that failed, or in whose middle its daemon was killed."""
    count = 0
    for daemon in region.daemons.values():
        log = daemon.folder / f"log/qemu/{name}.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        begun = text.split(": starting up libvirt version")[1:]
        count += sum("-incoming" not in each and not _TAKEN_BACK.search(each) for each in begun)
    return count


@contextmanager
def watching(region: MachineRegion, name: str = NAME) -> Iterator[Watch]:
    watch = Watch(region, name)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield watch
    finally:
        watch.ended.set()
        thread.join()


def case(region: MachineRegion, kind: str, victim: str, instant: float, tally: Tally) -> None:
    name = f"{kind}, {victim} after {instant:g} s"
    source = str(region.machine(NAME)["host"])
    target = next(host for host in region.daemons if host != source)
    before, told = starts(region), len(region.facts())
    with watching(region) as watch:
        ask(region, kind, source)
        time.sleep(instant)
        kill(region, victim, source, target)
        if not comes_to_rest(region):
            tally.stuck.append(f"{name}: {region.machine(NAME)}")
        if victim == "host":
            bring_back(region, source)
            if not comes_to_rest(region):
                tally.stuck.append(f"{name}, its host back: {region.machine(NAME)}")
    tally.cases[f"{kind} {victim}"] += 1
    if watch.seen_at_both:
        tally.doubled.append(name)
    most = (kind in _BOOTS) + (victim in LOSES_MEMORY)
    if starts(region) - before > most:
        tally.twice.append(f"{name}: started {starts(region) - before} times, {most} at most were called for")
    if "paused" in (state(daemon) for daemon in region.daemons.values()):
        tally.forgotten.append(name)
    tally.early += [f"{name}: {each}" for each in early(region.facts()[told:])]


def ask(region: MachineRegion, kind: str, source: str) -> None:
    words = {
        "restart": ("vm", "restart", NAME),
        "redeploy": ("vm", "redeploy", NAME),
        "pause": ("host", "maintain", source, "--kind", "freeze"),
        "migrate": ("host", "maintain", source, "--kind", "live-migration"),
    }
    region.forewarn(*words[kind])


def kill(region: MachineRegion, victim: str, source: str, target: str, name: str = NAME) -> None:
    """And start again what has a service manager in life."""
    if victim == "qemu":
        kill_process(region, name)
    elif victim == "qemu-target":
        for pid in set(processes_of(region, name)) & region.daemons[target].pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    elif victim == "host":
        region.daemons[source].lose()
        region.nodes[source].kill()  # it is dead, or about to be
        (region.folder / f"{source}.dead").touch()  # now its fence may say so
    elif victim == "node":
        region.nodes[source].kill()
        region.start_node(source).await_ready()
    else:
        daemon = region.daemons[source if victim == "source" else target]
        daemon.kill()
        daemon.start()


def bring_back(region: MachineRegion, host: str) -> None:
    """The host has power again, and does not start machines by itself."""
    (region.folder / f"{host}.dead").unlink(missing_ok=True)
    for left in (region.daemons[host].folder / "run/qemu").glob("*"):  # /run is empty after a loss of power
        left.unlink() if not left.is_dir() else None
    region.daemons[host].start()
    region.start_node(host).await_ready()
    until(lambda: healthy(region, host), f"{host} to take part again", region.logs)


def healthy(region: MachineRegion, host: str) -> bool:
    return any(
        f" {host} " in f" {line} " and "healthy" in line for line in region.forewarn("host", "list").splitlines()
    )


def comes_to_rest(region: MachineRegion, name: str = NAME) -> bool:
    for _ in range(_TURNS):
        with suppress(AssertionError):
            return until(partial(_is_at_rest, region, name))
    return False


def _is_at_rest(region: MachineRegion, name: str) -> bool:
    """A daemon or a node that was just killed may not answer yet."""
    with suppress(AssertionError):
        return at_rest(region, name)
    return False


def at_rest(region: MachineRegion, name: str = NAME) -> bool:
    """Nothing is left to do, and it runs at one host, where the region says."""
    if any(each["phase"] not in ("completed", "canceled") for each in region.events()):
        return False
    machine = region.machine(name)
    alive = {host: each for host, each in region.daemons.items() if each.process and each.process.poll() is None}
    runs = [host for host, daemon in alive.items() if state(daemon, name) == "running"]
    return not machine["errands"] and machine["power"] == "running" and runs == [machine["host"]]
