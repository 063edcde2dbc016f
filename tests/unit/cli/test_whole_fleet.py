"""``forewarn fleet``, ``forewarn search``, and lists by what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_the_fleet_is_told_in_numbers(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "3", "--availability-set", "front")
    region.read("web-0")
    run("vm", "restart", "web-0")
    run("vm", "stop", "web-1")

    told, cells, counted = run("fleet"), run("fleet", "--domains"), run("fleet", "--json").json

    assert "3 (2 running, 1 stopped)" in told.out
    assert "Reboot scheduled" in told.out
    assert "NOT RUNNING" in cells.out
    assert (counted["vms_total"], counted["pending"], counted["ready"]) == (3, 1, True)


def test_anything_is_found_by_a_part_of_its_name(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "3", "--availability-set", "front")

    assert run("search", "ront").lines[1].split()[:2] == ["availability-set", "front"]
    assert [each["name"] for each in run("search", "WEB", "--limit", "2", "--json").json["found"]] == ["web-0", "web-1"]
    assert "There is more" in run("search", "web", "--limit", "1").err
    assert "Nothing has 'zebra' in its name or id." in run("search", "zebra").err


def test_vms_are_listed_by_what_they_are(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "3", "--availability-set", "front")
    run("vm", "create", "batch", "--spot")
    run("vm", "stop", "web-1")

    assert run("vm", "list", "--power", "stopped", "--names").out.split() == ["web-1"]
    assert run("vm", "list", "--spot", "yes", "--names").out.split() == ["batch"]
    assert run("vm", "list", "--name", "web", "--ud", "2", "--names").out.split() == ["web-2"]
    wrong = run("vm", "list", "--power", "asleep")
    assert (wrong.status, "'power' is not right" in wrong.err) == (1, True)


def test_hosts_scopes_and_events_are_listed_by_what_they_are(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2", "--availability-set", "front")
    run("vm", "create", "lone")
    region.read("web-0")
    region.read("lone")
    run("host", "maintain", "host-0", "--kind", "freeze")
    run("vm", "redeploy", "lone")

    assert [scope["key"] for scope in run("scope", "list", "--kind", "vm", "--json").json] == ["vm/lone"]
    assert [host["name"] for host in run("host", "list", "--work", "yes", "--json").json] == ["host-0"]
    freezes = run("event", "list", "--type", "Freeze", "--json").json
    assert {event["host"] for event in freezes} == {"host-0"}
    assert run("event", "list", "--order", "not_before", "--json").json[0]["type"] == "Redeploy"
