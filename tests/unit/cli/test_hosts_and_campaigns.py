"""``forewarn host`` and ``forewarn campaign``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_hosts_are_listed_with_their_vms(run: Run, region: Region) -> None:
    assert "no hosts yet" in run("host", "list").err
    run("vm", "create", "db")

    listed, shown = run("host", "list"), run("host", "show", "host-0", "--json").json

    assert listed.lines[1].split() == ["host-0", "healthy", "0", "0", "1", "db"]
    assert shown["vms"] == ["db"]
    assert "health         healthy" in run("host", "show", "host-0").out


def test_maintenance_of_a_host_is_announced_to_those_who_read(run: Run, region: Region) -> None:
    run("vm", "create", "db")
    region.read("db")

    result = run("host", "maintain", "host-0", "--kind", "live-migration")

    assert "Freeze  scheduled" in result.out
    assert "Live Migration" in result.out


def test_maintenance_without_naming_hosts_is_refused_unless_all_is_said(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "6")
    for number in range(6):
        region.read(f"web-{number}")
    before = region.plane.seq

    neither, both = run("host", "maintain"), run("host", "maintain", "host-0", "--all")
    assert (neither.status, both.status) == (2, 2)
    assert region.plane.seq == before

    result = run("host", "maintain", "--all")
    assert result.lines[0].startswith("ID ")
    assert len(run("event", "list", "--json").json) == 6


def test_a_failing_host_gives_no_notice(run: Run, region: Region) -> None:
    run("vm", "create", "db")
    region.read("db")

    result = run("host", "fail", "host-0")

    assert "Redeploy  started" in result.out
    assert "approval   not needed" in result.out
    assert run("host", "show", "host-0", "--json").json["health"] == "failed"


def test_an_unknown_host_is_status_4_and_an_unknown_kind_a_usage_error(run: Run, region: Region) -> None:
    assert run("host", "show", "host-7").status == 4
    assert run("host", "maintain", "host-7").status == 4
    assert run("host", "maintain", "host-0", "--kind", "tea").status == 2


def test_a_campaign_is_started_paused_resumed_and_canceled(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "5", "--availability-set", "front")
    region.read("web-0")
    started = run("campaign", "start", "--kind", "reboot", "--hosts-at-once", "1", "--json").json

    paused = run("campaign", "pause", started["id"])
    resumed = run("campaign", "resume", started["id"], "--json").json
    canceled = run("campaign", "cancel", started["id"])

    assert started["kind"] == "reboot"
    assert "state          paused" in paused.out
    assert resumed["state"] == "running"
    assert "state          canceled" in canceled.out
    assert run("event", "list", "--json").json == []


def test_campaigns_are_listed_with_waves_counted_as_people_do(run: Run, region: Region) -> None:
    assert "no campaigns" in run("campaign", "list").err
    run("vm", "create", "web", "--count", "5", "--availability-set", "front")
    region.read("web-0")
    run("campaign", "start", "--scope", "availability-set/front")

    line = run("campaign", "list").lines[1]

    assert "freeze  running  1 of 5" in line
    assert len(run("campaign", "list", "--json").json) == 1


def test_an_unknown_campaign_or_scope_is_refused_and_nothing_starts(run: Run, region: Region) -> None:
    before = region.plane.seq

    assert run("campaign", "show", "nothing").status == 4
    assert run("campaign", "start", "--scope", "availability-set/none").status in (1, 4)
    assert run("campaign", "start", "--hosts-at-once", "0").status == 2
    assert region.plane.seq == before
