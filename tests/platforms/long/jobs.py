"""The same kills while a machine is made, stopped, started, given a new disk or removed: a machine of a blueprint.

Each case has a machine of its own, at the host where the other one is not, with a volume in the pool. What is wrong
afterwards is found past forewarn: by QEMU's processes, by both daemons, by libvirt's logs, by the files of the pool.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.platforms.libvirt.region import MachineRegion, processes_of
from tests.platforms.libvirt.vms import virsh
from tests.platforms.long.kills import LOSES_MEMORY, bring_back, kill, starts, state, watching
from tests.platforms.long.tally import Tally
from tests.waiting import until

_JOB = "job"
_OTHER = "web-0"
_BASE = "base.qcow2"
_TURNS = 5  # of a minute each, as for the kills of events


@dataclass(frozen=True)
class Job:
    """One thing that is asked for."""

    from_power: str  # what it does before: "running", "off", or "gone", which is nothing
    to_power: str
    starts: int  # that it calls for


JOBS = {
    "create": Job("gone", "running", 1),
    "start": Job("off", "running", 1),
    "stop": Job("running", "off", 0),
    "deallocate": Job("running", "off", 0),
    "reimage": Job("running", "running", 1),
    "delete": Job("running", "gone", 0),
}


def case(region: MachineRegion, kind: str, victim: str, instant: float, tally: Tally) -> None:
    job, name = JOBS[kind], f"{kind}, {victim} after {instant:g} s"
    target = str(region.machine(_OTHER)["host"])
    source = next(host for host in region.daemons if host != target)
    _make_ready(region, job, source)
    before = starts(region, _JOB)
    with watching(region, _JOB) as watch:
        place = ("--blueprint", "small", "--host", source) if kind == "create" else ()
        region.forewarn("vm", kind, _JOB, *place)
        time.sleep(instant)
        kill(region, victim, source, target, _JOB)
        power = job.to_power
        if victim == "host":  # what is deleted stays so until its host is back: only then it is known what is there
            _fenced(region, source)
            bring_back(region, source)
            power = ""
            if kind == "create":
                _tidy_lost(region, source, tally, name)
        if not _comes_to_rest(region, power):
            tally.stuck.append(f"{name}: {told(region)}")
    tally.cases[f"{kind} {victim}"] += 1
    if watch.seen_at_both:
        tally.doubled.append(name)
    most = job.starts + (victim in LOSES_MEMORY and job.to_power == "running")
    if starts(region, _JOB) - before > most:
        tally.twice.append(f"{name}: started {starts(region, _JOB) - before} times, {most} at most were called for")
    if "paused" in (state(daemon, _JOB) for daemon in region.daemons.values()):
        tally.forgotten.append(name)
    _make_none(region)
    if left := left_of(region):
        cut_off = victim == "host" and kind == "reimage" and all(each.startswith("volume") for each in left)
        (tally.known if cut_off else tally.left).append(f"{name}: {', '.join(left)}")
        _tidy_pool(region)


def _make_ready(region: MachineRegion, job: Job, host: str) -> None:
    if job.from_power == "gone":
        return
    region.forewarn("vm", "create", _JOB, "--blueprint", "small", "--host", host)
    assert _comes_to_rest(region, "running"), f"it was not made: {told(region)}"
    if job.from_power == "off":
        region.forewarn("vm", "stop", _JOB)
        assert _comes_to_rest(region, "off"), f"it was not stopped: {told(region)}"


def _make_none(region: MachineRegion) -> None:
    """Whatever came of it, and if only a person could help."""
    if machine(region) is not None:
        region.forewarn("vm", "delete", _JOB)
        for _ in range(_TURNS):
            with suppress(AssertionError):
                until(lambda: machine(region) is None, "it to be deleted", region.logs)
                break
    with suppress(AssertionError):  # what is left is told by who asked for this
        until(lambda: not left_of(region))


def _fenced(region: MachineRegion, host: str) -> None:
    for _ in range(_TURNS):
        with suppress(AssertionError):
            until(lambda: "fenced" in _line_of(region, host), f"{host} to be fenced", region.logs)
            return
    raise AssertionError(f"{host} was never fenced: {region.logs()}")


def _tidy_lost(region: MachineRegion, host: str, tally: Tally, name: str) -> None:
    """docs/machines.md says so: of a machine (or the new disk of a reimage) that was being made at a host which was
    lost, what is there by then is a person's to remove. Counted, and done here."""
    until(lambda: machine(region) is None, "it to be given up", region.logs)
    left = left_of(region)
    if left:
        tally.known.append(f"{name}: {', '.join(left)}")
    if f"domain at {host}" in left:
        virsh(region.daemons[host], "undefine", _JOB)
    _tidy_pool(region)


def _tidy_pool(region: MachineRegion) -> None:
    """By hand: the next case begins with the base alone."""
    for file in region.pool.iterdir():
        if file.name != _BASE:
            file.unlink()
    for daemon in region.daemons.values():
        virsh(daemon, "pool-refresh", "machines")


def _line_of(region: MachineRegion, host: str) -> str:
    lines = region.forewarn("host", "list").splitlines()
    return next((line for line in lines if f" {host} " in f" {line} "), "")


def machine(region: MachineRegion) -> dict[str, Any] | None:
    return next((each for each in region.machines() if each["vm"] == _JOB), None)


def told(region: MachineRegion) -> str:
    return json.dumps({"region": machine(region), "runs": _runs(region), "left": left_of(region)})


def _runs(region: MachineRegion) -> list[str]:
    alive = {host: each for host, each in region.daemons.items() if each.process and each.process.poll() is None}
    return [host for host, daemon in alive.items() if state(daemon, _JOB) == "running"]


def left_of(region: MachineRegion) -> list[str]:
    """Processes, domains and volumes that there are of it, at any host."""
    found = [f"process {pid}" for pid in processes_of(region, _JOB)]
    for host, daemon in region.daemons.items():
        found += [f"domain at {host}" for each in virsh(daemon, "list", "--all", "--name").split() if each == _JOB]
    return found + [f"volume {each.name}" for each in region.pool.iterdir() if each.name != _BASE]


def _comes_to_rest(region: MachineRegion, power: str) -> bool:
    for _ in range(_TURNS):
        with suppress(AssertionError):
            return until(partial(_is_at_rest, region, power))
    return False


def _is_at_rest(region: MachineRegion, power: str) -> bool:
    """A daemon or a node that was just killed may not answer yet."""
    with suppress(AssertionError):
        return at_rest(region, power)
    return False


def at_rest(region: MachineRegion, power: str = "") -> bool:
    """Nothing is left to do, what is there is what the region says, and (where one is named) what was asked for."""
    if any(each["phase"] not in ("completed", "canceled") for each in region.events()):
        return False
    known, runs = machine(region), _runs(region)
    if known is None:
        return power in ("", "gone") and not left_of(region)
    if known["errands"]:
        return False
    if known["power"] == "running":
        volumes = [each for each in left_of(region) if each.startswith("volume")]
        # of a reimage that its host's loss has cut off both stay, named in its stamp, until the machine is deleted
        fine = len(volumes) == 1 if power else 1 <= len(volumes) <= 2
        return power in ("", "running") and runs == [known["host"]] and fine
    return power in ("", "off") and not runs
