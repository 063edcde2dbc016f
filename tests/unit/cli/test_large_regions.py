"""What a person is shown of a large region fits on a screen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run

VMS = 5_000


@pytest.fixture
def large(run: Run, region: Region) -> Region:
    assert run("vm", "create", "web", "--count", str(VMS)).status == 0

    async def read_all() -> None:
        """Each VM reads by itself, as guests do."""
        await asyncio.gather(*(region.plane.enable(vm) for vm in region.plane.region.vms.values()))

    region.wait(read_all())
    return region


def test_a_campaign_over_many_vms_is_told_in_counts(run: Run, large: Region) -> None:
    started = run("campaign", "start", "--kind", "freeze")
    campaign = run("campaign", "list", "--json").json[0]
    shown = run("campaign", "show", campaign["id"])
    told = {line.split("  ")[0]: line.partition("  ")[2].strip() for line in shown.lines}

    for result in (started, shown, run("campaign", "list")):
        assert result.status == 0
        assert len(result.lines) <= 12
        assert max(map(len, result.lines)) <= 120
    assert campaign["open_events_total"] >= 500
    assert told["open events"] == f"{campaign['open_events_total']} scheduled"
    assert told["hosts"] == f"0 done, {campaign['hosts']['working']} being worked on, {campaign['hosts']['left']} left"
    assert campaign["hosts"]["working"] + campaign["hosts"]["left"] == len(large.plane.region.hosts)
    assert told["next wave"] == (
        "update domain 1, when this one's events are gone; they start by 2026-01-01T12:15:00Z (in 15 min)"
    )


def test_the_ids_of_a_campaigns_events_are_listed_on_request(run: Run, large: Region) -> None:
    campaign = run("campaign", "start", "--kind", "freeze", "--json").json
    ids = run("campaign", "show", campaign["id"][:8], "--ids").lines

    assert len(ids) == campaign["open_events_total"]
    assert set(campaign["open_events"]) <= set(ids)
    assert run("campaign", "show", campaign["id"], "--ids", "--json").json == ids


def test_the_first_reads_of_many_vms_are_one_line(run: Run, large: Region) -> None:
    run("vm", "restart", "web-0")
    run("clock", "advance", "1h")

    every = run("activity", "--since", "2h").lines
    folded = run("activity", "--since", "2h", "--fold").lines

    assert len(every) > VMS
    assert len(folded) <= 20
    assert any(f"{VMS}x read documents" in line and f"{VMS} scopes enabled" in line for line in folded)
    assert any("1 Reboot event scheduled" in line for line in folded)
    assert run("activity", "--fold").lines[1:] == folded[1:]
