"""One evening: a campaign of live migrations over two hosts with six guests, of which one never approves and one
crashes, and one of the hosts is lost in the middle. At its end every guest's agent tells what the journal tells."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.libvirt.daemons import Daemon
from tests.platforms.libvirt.region import MachineRegion, kill_process, machine_region
from tests.platforms.libvirt.vms import Guest, clear, on_bridge
from tests.platforms.long.tally import early
from tests.waiting import until

pytestmark = pytest.mark.timeout(600)
_STUBBORN, _CRASHING = "web-2", "web-4"


@pytest.fixture
def region(daemons: dict[str, Daemon], binding: Path, tmp_path: Path) -> Iterator[MachineRegion]:
    with machine_region(daemons, tmp_path, binding, "--notice-live-migration", "40s") as made:
        yield made
        if daemons["alpha"].process is None or daemons["alpha"].process.poll() is not None:
            daemons["alpha"].start()
        clear(daemons)


def test_every_guest_tells_of_the_evening_what_the_journal_tells(region: MachineRegion, tmp_path: Path) -> None:
    guests = {}
    for number in range(6):
        name, host = f"web-{number}", "alpha" if number < 3 else "beta"
        nic, words = on_bridge(10 + number)
        guests[name] = Guest(name, tmp_path, nic, f"{words} stubborn" if name == _STUBBORN else words)
        guests[name].start(region.daemons[host])
        region.adopt(guests[name], host)
    for guest in guests.values():
        guest.until_listening()

    region.forewarn("campaign", "start", "--kind", "live-migration")
    for name in ("web-0", "web-1"):
        guests[name].until("prepared Freeze")
    kill_process(region, _CRASHING)
    guests[_CRASHING].until("booted", 2)

    tried = "the migrations to be under way"
    until(
        lambda: [each for each in region.facts("ErrandTried") if each["body"]["kind"] == "migrate"], tried, region.logs
    )
    _lose(region, "alpha")
    _patiently(lambda: all(region.running(name) == ["beta"] for name in guests), "all to run at beta", region)
    _patiently(lambda: not _open(region), "nothing to be left to do", region)
    for guest in guests.values():
        guest.until_listening(_boots(region, guest.name))

    facts = region.facts()
    for name, guest in guests.items():
        announced = _announced(facts, name)
        prepared = [line.split()[-1] for line in guest.told() if line.startswith("prepared")]
        approved = [each["body"]["event_id"] for each in facts if _is_approval(each, name)]
        booted = [line for line in guest.told() if line.startswith("booted")]
        assert set(prepared) <= set(announced), f"{name} prepared for what was not announced"
        assert set(approved) <= set(prepared), f"{name} approved what it had not prepared"
        assert approved or name not in ("web-0", "web-1"), f"{name} was asked, and did not answer"
        assert not approved or name != _STUBBORN
        told = f"{name} booted {len(booted)} times: {guest.text()}\n{_seen(facts, name)}"
        assert len(booted) == _boots(region, name), told
    assert sum(each["fact"] == "HostFenced" for each in facts) == 1
    assert early(facts, frozenset(_announced(facts, _STUBBORN))) == []


def _patiently(look: Callable[[], bool], what: str, region: MachineRegion) -> None:
    """A node is missed after a minute, its host silent after that, and fenced after that."""
    for _ in range(3):
        with suppress(AssertionError):
            until(look, what)
            return
    until(look, what, region.logs)


def _lose(region: MachineRegion, host: str) -> None:
    """Everything there dies at once, its node too; then its fence may say so."""
    region.daemons[host].lose()
    (region.folder / f"{host}.dead").touch()


def _open(region: MachineRegion) -> list[Any]:
    return [errand for each in region.machines() for errand in each["errands"]]


def _boots(region: MachineRegion, name: str) -> int:
    told = json.loads(region.forewarn("vm", "show", name, "--json"))
    return int(told["boots"])


def _seen(facts: list[dict[str, Any]], vm: str) -> str:
    """What the journal has of that machine, for the message of a failure."""
    kept = [each for each in facts if each["fact"].startswith("Machine") and each["body"]["vm"] == vm]
    return "\n".join(map(json.dumps, kept))


def _announced(facts: list[dict[str, Any]], vm: str) -> list[str]:
    """Events of that VM, by the journal alone."""
    born = [each for each in facts if each["fact"] in ("EventScheduled", "EventBornStarted")]
    return [each["body"]["event"]["id"] for each in born if f'"{vm}"' in json.dumps(each["body"])]


def _is_approval(fact: dict[str, Any], vm: str) -> bool:
    return fact["fact"] == "EventApproved" and bool(fact["body"]["by"] == vm)
