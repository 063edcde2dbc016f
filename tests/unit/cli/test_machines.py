"""``forewarn machine`` and the commands of real hosts, as typed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from forewarn.core.commands import HostFellSilent
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinHosts
from forewarn.plane.clock import TurnableClock
from forewarn.plane.hands.settings import MachineHost, Machines
from forewarn.plane.ports import Origin
from tests.unit.cli.conftest import NOON, House, Region
from tests.unit.cli.test_dry_run import OF_MACHINES

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run


@pytest.fixture
def platform() -> TwinHosts:
    """Two hosts in memory with one machine."""
    found = TwinHosts(("rack-1", "rack-2"))
    found.put("web-0", "rack-1")
    return found


@pytest.fixture(autouse=True)
def region_of(platform: TwinHosts, house: tuple[House, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Region]:
    """The region over that platform. No host takes part yet."""
    opened, url = house
    monkeypatch.setenv("FOREWARN_URL", url)
    engine = TwinEngine(platform, "boxes")
    hosts = tuple(MachineHost(name, engine, kind="docker", fence=lambda: None) for name in platform.names)
    region = Region(opened, TurnableClock(NOON), None, machines=Machines(hosts))
    yield region
    region.wait(region.close())


def test_a_machine_is_found_adopted_checked_and_released(run: Run, platform: TwinHosts) -> None:
    assert run("host", "add", "rack-1").out == "Host 'rack-1' takes part; it has room for 20 VMs.\n"
    assert run("machine", "list", "--unadopted").lines[1].split() == ["rack-1/web-0", "boxes", "running"]
    dry = run("machine", "adopt", "rack-1/web-0", "--as", "shop", "--dry-run")
    assert dry.lines[:2] == [
        "Dry run, nothing was changed. The answer would be:",
        "VM shop is machine rack-1/web-0.",
    ]
    assert run("vm", "list", "--json").json == []

    set_of = ("--availability-set", "front", "--terminate-notice", "5m")
    adopted = run("machine", "adopt", "rack-1/web-0", "--as", "shop", *set_of, "--json").json
    assert (adopted["vm"], adopted["identity_safe"], adopted["dry_run"]) == ("shop", True, False)
    assert run("vm", "show", "shop", "--json").json["terminate_notice_seconds"] == 300
    shown = run("vm", "show", "shop").out
    assert "rack-1/web-0 of engine boxes" in shown
    assert "boot mark" in shown
    checked = run("machine", "check", "shop")
    assert (checked.status, "Its identity is safe." in checked.out) == (0, True)
    listed = run("machine", "list").lines
    assert listed[1].split()[:4] == ["shop", "rack-1/web-0", "boxes", "running"]
    assert any(line.split()[:5] == ["rack-2", "boxes", "docker", "not", "added"] for line in listed), listed

    released = run("machine", "release", "shop").out
    assert released.startswith("Released rack-1/web-0, which was VM shop.")
    assert platform.copies("web-0")[0].power.value == "running"
    assert run("host", "remove", "rack-1").out == "Host 'rack-1' takes no part any more.\n"


@pytest.mark.parametrize(
    ("line", "status", "sentence"),
    [
        ("machine adopt web-0", 2, "'web-0' is not HOST/REF"),
        ("machine adopt rack-1/ghost", 4, "Host 'rack-1' has no machine 'ghost'"),
        ("machine adopt rack-9/web-0", 4, "No [[host]] of this server's region file is named 'rack-9'"),
        ("machine adopt rack-1/web-0 --uri qemu:///system", 2, "there is no option '--uri' here"),
        ("machine check nobody", 4, "There is no VM named 'nobody'"),
        ("machine release nobody", 4, "There is no VM named 'nobody'"),
        ("host add rack-9", 4, "it declares: rack-1, rack-2"),
        ("host add rack-1 --fence /bin/false", 2, "there is no option '--fence' here"),
        ("host remove rack-2", 4, "There is no host named 'rack-2'"),
        ("host drain rack-2", 4, "There is no host named 'rack-2'"),
        ("host resume rack-1", 1, "Host 'rack-1' takes machines: there is nothing to resume"),
        ("host confirm-lost rack-1", 1, "only one that is silent can be called lost"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_status(
    run: Run, platform: TwinHosts, line: str, status: int, sentence: str
) -> None:
    run("host", "add", "rack-1")

    ended = run(*line.split())

    assert ended.status == status
    assert sentence in " ".join(ended.err.split())
    assert run("machine", "list", "--json").json["machines"] == []


def test_where_no_vm_is_a_machine_that_is_said(run: Run) -> None:
    assert run("machine", "list").err.startswith("No VM is a real machine")


@pytest.mark.parametrize("command", OF_MACHINES, ids=" ".join)
def test_a_dry_run_changes_nothing_and_says_that_it_is_one(
    run: Run, platform: TwinHosts, region_of: Region, command: list[str]
) -> None:
    platform.put("db", "rack-1")
    run("host", "add", "rack-1")
    run("machine", "adopt", "rack-1/web-0", "--as", "shop")
    if "remove" in command:
        run("machine", "release", "shop")
    if {"drain", "resume"} & {*command}:
        run("host", "add", "rack-2")
    if "resume" in command:
        run("host", "drain", "rack-2")
    if "confirm-lost" in command:
        run("host", "add", "rack-2")
        region_of.wait(region_of.plane.submit(HostFellSilent("rack-2"), Origin("driver")))
    seq = region_of.plane.seq

    dry = run(*command, "--dry-run")

    assert dry.status == 0, dry.err
    assert dry.lines[0] == "Dry run, nothing was changed. The answer would be:"
    assert region_of.plane.seq == seq
    assert platform.copies("db")[0].vm == ""
    assert run(*command).status == 0
    assert region_of.plane.seq > seq
