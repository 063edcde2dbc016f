"""Lists by what is asked for: filters that must all hold, an order, and pages that may be short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from forewarn.web.operator.listing.paging import choose

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def names(bench: Bench, **filters: Any) -> list[str]:
    return [vm["name"] for vm in (await bench.get("/v1/vms", **filters))["vms"]]


async def test_vms_are_found_by_what_they_are_and_do(bench: Bench) -> None:
    await bench.create("web", count=3, availability_set="Front")
    await bench.create("Batch", count=2, numbered=True, spot=True)
    await bench.post("/v1/vms/stop", {"names": ["web-1", "batch-0"]}, 202)
    host = (await bench.get("/v1/vms/web-2"))["host"]

    assert await names(bench, power="stopped") == ["Batch-0", "web-1"]
    assert await names(bench, power="running") == ["Batch-1", "web-0", "web-2"]
    assert await names(bench, spot="yes") == ["Batch-0", "Batch-1"]
    assert await names(bench, spot="no", power="stopped") == ["web-1"]
    assert await names(bench, name="BAT") == ["Batch-0", "Batch-1"]
    assert await names(bench, name="-1", spot=True) == ["Batch-1"]
    assert await names(bench, ud=1, scope="availability-set/front") == ["web-1"]
    assert await names(bench, ud=1, fd=1) == ["Batch-1", "web-1"]
    assert "web-2" in await names(bench, host=host)
    assert await names(bench, host=host, name="web-2", scope="availability-set/FRONT") == ["web-2"]
    assert await names(bench, host=host, power="stopped", scope="availability-set/front", ud=2) == []


async def test_a_vm_is_pending_while_an_event_that_it_is_told_of_has_yet_to_start(bench: Bench) -> None:
    await bench.create("web", count=2, numbered=True)
    await bench.read("web-0")
    (event,) = (await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202))["events"]
    assert await names(bench, pending="yes") == ["web-0"]
    assert await names(bench, pending="no") == ["web-1"]
    await bench.post("/v1/events/approve", {"ids": [event["id"]]})
    assert await names(bench, pending="yes") == []


async def test_filtered_vms_come_in_pages_that_together_are_all_of_them(bench: Bench) -> None:
    await bench.create("web", count=30)
    await bench.post("/v1/vms/stop", {"names": [f"web-{number}" for number in range(0, 30, 3)]}, 202)
    found, after, pages = [], "", 0
    while after is not None:
        page = await bench.get("/v1/vms", power="stopped", name="web", limit=3, after=after)
        found += [vm["name"] for vm in page["vms"]]
        after, pages = page["next"], pages + 1
        assert page["total"] == 30
    assert found == sorted(f"web-{number}" for number in range(0, 30, 3))
    assert pages == 4


async def test_what_is_made_between_two_questions_is_in_the_second_answer(bench: Bench) -> None:
    assert await names(bench) == []
    await bench.create("web")
    assert await names(bench) == ["web"]
    await bench.post("/v1/vms/delete", {"names": ["web"]}, 202)
    assert await names(bench) == []


async def test_scopes_are_found_by_kind_name_and_whether_anybody_reads(bench: Bench) -> None:
    await bench.create("a", availability_set="Front")
    await bench.create("b", availability_set="back")
    await bench.create("c", cloud_service="shop", role="Web")
    await bench.create("set-up")
    await bench.read("a", "set-up")

    async def keys(**filters: Any) -> list[str]:
        return [scope["key"] for scope in (await bench.get("/v1/scopes", **filters))["scopes"]]

    assert await keys(kind="availability-set") == ["availability-set/back", "availability-set/front"]
    assert await keys(kind="vm") == ["vm/set-up"]
    assert await keys(enabled="yes") == ["availability-set/front", "vm/set-up"]
    assert await keys(enabled="no", kind="cloud-service") == ["cloud-service/shop"]
    assert await keys(name="SET") == ["vm/set-up"]
    assert await keys(name="o", kind="availability-set") == ["availability-set/front"]


async def test_hosts_are_found_by_health_open_work_and_vms_that_do_not_run(bench: Bench) -> None:
    await bench.create("web", count=12, availability_set="front")
    await bench.read("web-0")
    hosts = (await bench.get("/v1/hosts"))["hosts"]
    assert [host["name"] for host in hosts] == [f"host-{number}" for number in range(len(hosts))]
    of_zero = (await bench.get("/v1/vms/web-0"))["host"]
    of_one = (await bench.get("/v1/vms/web-1"))["host"]
    await bench.post("/v1/hosts/maintain", {"hosts": [of_zero], "kind": "freeze"}, 202)
    await bench.post("/v1/vms/stop", {"names": ["web-1"]}, 202)

    async def found(**filters: Any) -> list[str]:
        return [host["name"] for host in (await bench.get("/v1/hosts", **filters))["hosts"]]

    assert await found(work="yes") == [of_zero]
    assert await found(down="yes") == [of_one]
    assert await found(health="failed") == []
    assert len(await found(health="healthy", work="no", down="no")) == len(hosts) - 2
    assert await found(ud=hosts[1]["update_domain"], fd=hosts[1]["fault_domain"]) == [hosts[1]["name"]]
    assert await found(after=hosts[0]["name"], limit=1) == ["host-1"]


async def test_events_are_found_by_what_they_are_and_ordered_by_notbefore(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.create("lone")
    await bench.read("web-0", "lone")
    (restart,) = (await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202))["events"]
    (redeploy,) = (await bench.post("/v1/vms/redeploy", {"names": ["lone"]}, 202))["events"]
    campaign = (await bench.post("/v1/campaigns", {"kind": "freeze", "hosts": ["host-1"]}, 201))["id"]
    (freeze,) = [event for event in (await bench.get("/v1/events"))["events"] if event["campaign"]]

    async def found(**filters: Any) -> list[str]:
        return [event["id"] for event in (await bench.get("/v1/events", **filters))["events"]]

    assert set(await found()) == {restart["id"], redeploy["id"], freeze["id"]}
    assert (await found(order="not_before"))[0] == redeploy["id"], "its notice is the shortest"
    assert await found(type="Redeploy") == [redeploy["id"]]
    assert set(await found(source="User")) == {restart["id"], redeploy["id"]}
    assert await found(campaign=campaign) == await found(host="host-1") == [freeze["id"]]
    assert await found(scope="vm/lone", type="Reboot") == []
    assert await found(vm="web-0", source="User") == [restart["id"]]
    await bench.post("/v1/events/approve", {"ids": [restart["id"]]})
    assert await found(phase="started") == [restart["id"]]

    first = await bench.get("/v1/events", order="not_before", limit=2)
    second = await bench.get("/v1/events", order="not_before", limit=2, after=first["next"])
    assert [event["id"] for event in first["events"] + second["events"]] == await found(order="not_before")
    assert second["next"] is None


async def test_ended_events_are_filtered_in_the_same_way(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-0")
    (gone,) = (await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202))["events"]
    (kept,) = (await bench.post("/v1/vms/redeploy", {"names": ["web-1"]}, 202))["events"]
    await bench.post("/v1/events/cancel", {"ids": [gone["id"]]})

    async def found(**filters: Any) -> list[str]:
        told = await bench.get("/v1/events", since="2026-01-01T00:00:00Z", **filters)
        return [event["id"] for event in told["events"]]

    assert set(await found()) == {gone["id"], kept["id"]}
    assert await found(phase="canceled") == [gone["id"]]
    assert await found(type="Redeploy") == [kept["id"]]


@pytest.mark.parametrize(
    ("path", "field", "filters"),
    [
        ("/v1/vms", "vms", {}),
        ("/v1/vms", "vms", {"name": "web"}),
        ("/v1/vms", "vms", {"power": "stopped"}),
        ("/v1/vms", "vms", {"scope": "availability-set/front"}),
        ("/v1/vms", "vms", {"host": "host-0"}),
        ("/v1/scopes", "scopes", {}),
        ("/v1/scopes", "scopes", {"kind": "availability-set"}),
        ("/v1/scopes", "scopes", {"kind": "vm", "name": "lone"}),
        ("/v1/scopes", "scopes", {"name": "o"}),
        ("/v1/hosts", "hosts", {}),
        ("/v1/events", "events", {}),
        ("/v1/events", "events", {"order": "not_before"}),
        ("/v1/events", "events", {"scope": "availability-set/front", "order": "not_before"}),
        ("/v1/events", "events", {"since": "2026-01-01T00:00:00Z"}),
    ],
)
async def test_a_list_from_its_end_is_the_list_turned_around_page_by_page(
    bench: Bench, path: str, field: str, filters: dict[str, Any]
) -> None:
    await bench.create("web", count=7, availability_set="front")
    await bench.create("db", count=2, availability_set="data")
    await bench.create("lone", count=3, numbered=True)
    await bench.read("web-0", "db-0", "lone-0", "lone-1")
    await bench.post("/v1/vms/restart", {"names": ["web-1", "web-2", "lone-0"]}, 202)
    await bench.post("/v1/vms/redeploy", {"names": ["web-3", "db-1", "lone-1"]}, 202)
    await bench.post("/v1/vms/stop", {"names": ["web-4", "web-5", "lone-2"]}, 202)
    onwards = (await bench.get(path, **filters))[field]
    found, after = [], ""
    while after is not None:
        page = await bench.get(path, **filters, reverse="yes", limit=2, after=after)
        found += page[field]
        after = page["next"]
    assert len(onwards) > 1
    assert found == onwards[::-1]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/v1/vms?power=asleep", "The query parameter 'power' is not right: input should be 'running', 'stopped'"),
        ("/v1/vms?ud=-1", "'ud'"),
        ("/v1/vms?colour=red", "There is no query parameter 'colour' here."),
        ("/v1/vms?spot=perhaps", "'spot'"),
        ("/v1/vms?name=a%0Ab", "no name holds a control character"),
        ("/v1/scopes?kind=club", "'kind'"),
        ("/v1/hosts?health=fine", "'health'"),
        ("/v1/events?type=Party", "'type'"),
        ("/v1/events?order=age", "'order'"),
        ("/v1/events?after=yesterday", "'after' is the 'next' of the page before"),
        ("/v1/search?q=", "'q'"),
        ("/v1/search?q=%E2%80%AE", "control character"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_refused_with_a_sentence(bench: Bench, path: str, sentence: str) -> None:
    await bench.create("web")
    assert sentence in await bench.refused(400, "GET", path)


@pytest.mark.parametrize("path", ["/v1/vms?host=host-99", "/v1/vms?scope=vm/none", "/v1/events?campaign=X"])
async def test_a_filter_that_names_what_is_not_there_says_so(bench: Bench, path: str) -> None:
    await bench.create("web")
    assert "no " in await bench.refused(404, "GET", path)


def test_a_filtered_page_ends_after_a_bounded_search_and_says_where_to_go_on() -> None:
    first = choose(iter(range(100)), lambda number: number > 90, str, 5, most=50)
    assert (first.things, first.next, first.looked_at) == ([], "49", 50)
    second = choose(iter(range(50, 100)), lambda number: number > 90, str, 5, most=50)
    assert (second.things, second.next) == ([91, 92, 93, 94, 95], "95")
    third = choose(iter(range(96, 100)), lambda number: number > 90, str, 5, most=50)
    assert (third.things, third.next, third.looked_at) == ([96, 97, 98, 99], None, 4)
