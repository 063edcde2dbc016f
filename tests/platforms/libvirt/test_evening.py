"""One evening: a campaign of live migrations over two hosts with six guests, of which one never approves and one
crashes, and one of the hosts is lost in the middle, and a freeze of all at the end. Every guest's agent tells what the
journal tells: it prepared for what was announced while it was up, in that order, and put right what was over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.libvirt.daemons import Daemon
from tests.platforms.libvirt.evening import Spell, announced, faults, prepared, restored
from tests.platforms.libvirt.region import MachineRegion, kill_process, machine_region
from tests.platforms.libvirt.vms import Guest, clear, on_bridge
from tests.platforms.long.tally import early
from tests.waiting import until

pytestmark = pytest.mark.timeout(900)
_STUBBORN, _CRASHING = "web-2", "web-4"


@pytest.fixture
def region(daemons: dict[str, Daemon], binding: Path, tmp_path: Path) -> Iterator[MachineRegion]:
    with machine_region(daemons, tmp_path, binding, "--notice-live-migration", "40s", "--notice-freeze", "90s") as made:
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
    down = {_CRASHING: len(region.facts())}
    kill_process(region, _CRASHING)
    guests[_CRASHING].until("booted", 2)

    tried = "the migrations to be under way"
    until(
        lambda: [each for each in region.facts("ErrandTried") if each["body"]["kind"] == "migrate"], tried, region.logs
    )
    down |= dict.fromkeys(("web-0", "web-1", _STUBBORN), len(region.facts()))
    _lose(region, "alpha")
    _patiently(lambda: all(region.running(name) == ["beta"] for name in guests), "all to run at beta", region)
    _patiently(lambda: not _open(region), "nothing to be left to do", region)
    for guest in guests.values():
        guest.until_listening(_boots(region, guest.name))

    # Whoever was told of nothing until now is told of this: an agent that does nothing is found out at each guest
    again = len(region.facts())
    region.forewarn("host", "maintain", "beta", "--kind", "freeze")
    _patiently(lambda: not region.events(), "the last event to be over", region)
    for name, guest in guests.items():
        _patiently(partial(_is_put_right, guest), f"{name} to put right what it had prepared for", region)

    facts = region.facts()
    for name, guest in guests.items():
        spell = Spell(down.get(name, again), again)
        approved = [each["body"]["event_id"] for each in facts if _is_approval(each, name)]
        told = f"{guest.text()}\n{_seen(facts, name)}"
        assert set(announced(facts[again:], name)), f"nothing was announced to {name} at the end"
        if name == _STUBBORN:
            assert (approved, prepared(guest.told())) == ([], []), told
        else:
            assert faults(guest.told(), facts, name, spell) == [], told
            assert set(approved) <= set(prepared(guest.told())), f"{name} approved what it had not prepared: {told}"
            assert set(announced(facts[again:], name)) <= set(approved), f"{name} was asked, and did not answer: {told}"
        booted = [line for line in guest.told() if line.startswith("booted")]
        assert len(booted) == _boots(region, name), f"{name} booted {len(booted)} times: {told}"
    assert sum(each["fact"] == "HostFenced" for each in facts) == 1
    assert early(facts, frozenset(announced(facts, _STUBBORN))) == []


def _is_put_right(guest: Guest) -> bool:
    return sorted(restored(guest.told())) == sorted(prepared(guest.told()))


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


def _is_approval(fact: dict[str, Any], vm: str) -> bool:
    return fact["fact"] == "EventApproved" and bool(fact["body"]["by"] == vm)


_EVENTS = ("1", "2", "3", "4")
_JOURNAL = [
    *({"fact": "EventScheduled", "body": {"event": {"id": each, "vms": ["web-0"]}}} for each in _EVENTS),
    {"fact": "EventScheduled", "body": {"event": {"id": "5", "vms": ["web-1"]}}},
    *({"fact": "EventCompleted", "body": {"event_id": each}} for each in ("1", "2", "3")),
]
_TOLD = [
    "booted",
    *(f"{what} Freeze {each}" for each in "123" for what in ("prepared", "restored")),
    "prepared Freeze 4",
]


@pytest.mark.parametrize(
    ("lines", "is_fine"),
    [
        (_TOLD, True),
        ([each for each in _TOLD if not each.endswith(" 2")], True),  # it was down when that was announced
        ([], False),
        ([each for each in _TOLD if not each.endswith(" 3")], False),
        ([*_TOLD, "prepared Freeze 1"], False),
        ([*_TOLD, "restored Freeze 1"], False),
        ([*_TOLD, "restored Freeze 4"], False),
        ([*_TOLD, "prepared Freeze 5"], False),
        ([each for each in _TOLD if each != "restored Freeze 3"], False),
        (["prepared Freeze 3", "restored Freeze 3", *_TOLD[:5], "prepared Freeze 4"], False),
        ([*_TOLD[:5], "restored Freeze 3", "prepared Freeze 3", "prepared Freeze 4"], False),
    ],
)
def test_a_guest_that_tells_another_story_is_found(lines: list[str], is_fine: bool) -> None:
    assert (faults(lines, _JOURNAL, "web-0", Spell(1, 2)) == []) is is_fine
