"""What a campaign has open, off the read models; beside a plain look at every event and host."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.core.phases import PENDING, Phase
from forewarn.web.operator.desk import list_of
from forewarn.web.operator.telling.campaign_work import work_in, work_seen

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio
LIFE = list(Phase)


def looked_at(bench: Bench, campaign_id: str) -> dict[str, Any]:
    """By the descriptions of the answer's fields."""
    region = bench.plane.region
    campaign = region.campaigns[campaign_id]
    events = [event for event in region.events.values() if event.campaign == campaign_id]
    hosts = [region.hosts[number] for number in campaign.hosts] or list(region.hosts.values())
    working = {event.host for event in events}
    turn_to_come = {host.number for host in hosts if host.vms and host.update_domain > campaign.wave}
    left = (turn_to_come | set(campaign.waiting)) - working if campaign.state.value != "completed" else set()
    slowest = max(events, key=lambda event: (-LIFE.index(event.phase), event.not_before, event.id), default=None)
    starts = [event.not_before for event in events if event.phase in PENDING]
    return {
        "open_events_total": len(events),
        "open_events_by_phase": Counter(event.phase.value for event in events),
        "open_events_start_by": f"{max(starts):%Y-%m-%dT%H:%M:%SZ}" if starts else None,
        "hosts": {
            "total": len(hosts),
            "done": len(hosts) - len(working) - len(left),
            "working": len(working),
            "left": len(left),
        },
        "slowest": None if slowest is None else slowest.id,
        "vms_total": sum(len(host.vms) for host in hosts),
        "waves_total": len({host.update_domain for host in hosts}),
    }


async def check(bench: Bench, campaign_id: str) -> None:
    story = await bench.get(f"/v1/campaigns/{campaign_id}")
    expected = looked_at(bench, campaign_id)
    slowest = story["slowest"] and story["slowest"]["event"]
    assert {**{name: story[name] for name in expected}, "slowest": slowest} == expected

    listed = await list_of(bench.plane)
    assert listed is not None
    campaign = listed.look.region.campaigns[campaign_id]
    read, seen = work_in(listed, campaign), work_seen(listed.look.region, campaign)
    assert (read.phases, read.start_by) == (seen.phases, seen.start_by)
    events = listed.look.region.events  # of those that begin at one instant, each may tell of another
    told = [events[each.slowest] for each in (read, seen) if each.slowest is not None]
    assert len({(event.phase, event.not_before) for event in told}) <= 1
    assert len(told) in (0, 2)
    assert set(read.hosts) == set(seen.hosts)
    (row,) = (row for row in (await bench.get("/v1/campaigns"))["campaigns"] if row["id"] == campaign_id)
    assert row == {name: story[name] for name in row}


async def test_a_campaign_is_told_as_its_events_and_hosts_are_whatever_happens(bench: Bench) -> None:
    await bench.create("web", count=10, availability_set="front")
    await bench.create("lone", count=20)
    await bench.read("web-0", *(f"lone-{number}" for number in range(20)))
    first = (await bench.post("/v1/campaigns", {"kind": "freeze", "hosts_at_once": 2}, 201))["id"]
    await check(bench, first)
    (event_id, *_) = (await bench.get(f"/v1/campaigns/{first}"))["open_events"]
    await bench.post("/v1/events/approve", {"ids": [event_id]})
    await check(bench, first)

    await bench.post("/v1/hosts/maintain", {"hosts": ["host-1"], "kind": "reboot"}, 202)  # work of somebody else
    second = (await bench.post("/v1/campaigns", {"kind": "reboot", "hosts": ["host-0", "host-3"]}, 201))["id"]
    await bench.create("late", count=6)  # on hosts that have been counted
    for _ in range(40):
        await check(bench, first)
        await check(bench, second)
        if not (await bench.post("/v1/clock/next", {}))["moved"]:
            break
    third = (await bench.post("/v1/campaigns", {"kind": "freeze"}, 201))["id"]
    await bench.post(f"/v1/campaigns/{third}/cancel")
    await check(bench, third)
