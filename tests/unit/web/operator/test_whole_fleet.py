"""The region in numbers, its hosts as bytes, and finding anything in it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.core.region import Region
from forewarn.web.operator.listing.counts import fleet_not_ready

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_the_fleet_is_counted_by_what_lists_tell(bench: Bench) -> None:
    await bench.create("web", count=5, availability_set="front")
    await bench.create("batch", count=3, spot=True)
    await bench.read("web-0")
    await bench.post("/v1/vms/restart", {"names": ["web-0", "web-1"]}, 202)
    await bench.post("/v1/vms/deallocate", {"names": ["batch-0"]}, 202)
    fleet = await bench.get("/v1/fleet")
    vms = (await bench.get("/v1/vms"))["vms"]
    events = (await bench.get("/v1/events"))["events"]

    assert (fleet["ready"], fleet["share"], fleet["seq"]) == (True, 1.0, bench.plane.seq)
    assert fleet["vms_total"] == 8
    assert fleet["hosts_total"] == len((await bench.get("/v1/hosts"))["hosts"])
    assert fleet["power"] == Counter(vm["power"] for vm in vms) == {"running": 7, "deallocated": 1}
    assert fleet["kinds"] == {"availability-set": 5, "vm": 3}
    assert (fleet["spot"], fleet["pending"]) == (3, 2)
    assert {(cell["update_domain"], cell["fault_domain"]): cell["vms"] for cell in fleet["domains"]} == Counter(
        (vm["update_domain"], vm["fault_domain"]) for vm in vms
    )
    assert sum(cell["not_running"] for cell in fleet["domains"]) == 1
    assert sum(cell["pending"] for cell in fleet["domains"]) == 2
    assert fleet["health"] == {"healthy": fleet["hosts_total"], "failing": 0, "failed": 0}
    assert fleet["events"] == [{"type": "Reboot", "phase": "scheduled", "events": len(events)}]
    assert fleet["events_total"] == len(events) == 2


async def test_an_empty_region_is_counted_too(bench: Bench) -> None:
    fleet = await bench.get("/v1/fleet")
    assert (fleet["ready"], fleet["vms_total"], fleet["power"], fleet["domains"]) == (True, 0, {}, [])


def test_while_it_is_counted_the_answer_says_how_far_it_is() -> None:
    told = fleet_not_ready(Region(), 7, 0.4242)
    assert (told.ready, told.share, told.seq, told.power) == (False, 0.42, 7, {})


async def test_hosts_are_a_byte_each_by_number(bench: Bench) -> None:
    await bench.create("web", count=5, availability_set="front")
    await bench.read("web-0")
    hosts = {vm["name"]: int(vm["host"].removeprefix("host-")) for vm in (await bench.get("/v1/vms"))["vms"]}
    await bench.post("/v1/hosts/maintain", {"hosts": [f"host-{hosts['web-0']}"], "kind": "predicted-failure"}, 202)
    await bench.post("/v1/vms/stop", {"names": ["web-1"]}, 202)
    answer = await bench.client.get("/v1/fleet/hosts")

    assert answer.headers["Content-Type"] == "application/octet-stream"
    expected = {hosts["web-0"]: 1 + 4, hosts["web-1"]: 8}
    assert list(answer.content) == [expected.get(number, 0) for number in range(bench.plane.region.hosts.__len__())]


async def test_hosts_that_have_not_changed_are_not_sent_again(bench: Bench) -> None:
    await bench.create("web", count=5)
    first = await bench.client.get("/v1/fleet/hosts")
    again = await bench.client.get("/v1/fleet/hosts", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    await bench.post("/v1/vms/stop", {"names": ["web-0"]}, 202)
    changed = await bench.client.get("/v1/fleet/hosts", headers={"If-None-Match": first.headers["ETag"]})
    assert (changed.status_code, changed.headers["ETag"] != first.headers["ETag"]) == (200, True)


async def found(bench: Bench, q: str, **more: Any) -> list[tuple[str, str]]:
    return [(each["kind"], each["name"]) for each in (await bench.get("/v1/search", q=q, **more))["found"]]


async def test_things_of_every_kind_are_found_by_a_part_of_their_name(bench: Bench) -> None:
    await bench.create("Web", count=2, numbered=True, availability_set="Front")
    await bench.create("shop-web", cloud_service="webshop", role="Web")
    await bench.post("/v1/scale-sets", {"name": "webset", "capacity": 1}, 201)
    assert await found(bench, "WEB") == [
        ("cloud-service", "webshop"),
        ("vm", "Web-0"),
        ("vm", "Web-1"),
        ("vm", "webset_0"),
        ("scale-set", "webset"),
        ("vm", "shop-web"),
    ]
    assert await found(bench, "front") == [("availability-set", "Front")]
    assert await found(bench, "set") == [("scale-set", "webset"), ("vm", "webset_0")], "no kind's own name counts"
    assert await found(bench, "web-1") == [("vm", "Web-1")]
    assert await found(bench, "nothing like that") == []


async def test_what_is_called_exactly_so_comes_first(bench: Bench) -> None:
    await bench.create("a", count=3, numbered=True)
    await bench.create("a")
    assert (await found(bench, "A"))[0] == ("vm", "a")


async def test_events_campaigns_and_hosts_are_found_by_id(bench: Bench) -> None:
    await bench.create("web", count=60)
    await bench.read("web-0")
    (event,) = (await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202))["events"]
    campaign = (await bench.post("/v1/campaigns", {"kind": "freeze", "hosts": ["host-2"]}, 201))["id"]
    assert await found(bench, event["id"][9:23].lower()) == [("event", event["id"])]
    assert ("campaign", campaign) in await found(bench, campaign[:8])
    assert await found(bench, "host-1", limit=100) == [
        ("host", f"host-{number}") for number in range(len(bench.plane.region.hosts)) if str(number).startswith("1")
    ]
    assert await found(bench, "host-07") == []


async def test_a_search_says_whether_there_is_more(bench: Bench) -> None:
    await bench.create("web", count=25)
    few = await bench.get("/v1/search", q="web")
    assert (len(few["found"]), few["more"], few["ready"]) == (20, True, True)
    assert (await bench.get("/v1/search", q="web", limit=25))["more"] is False
