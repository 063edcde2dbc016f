"""Deleting instances that want to be told: the rules of the terminate document, through the Resource Manager."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from forewarn.core.commands import CancelEvents
from forewarn.plane.ports import Origin
from forewarn.stores.memory import MemoryJournal
from tests.unit.web.resource_manager.compute.bench import (
    NOON,
    Bench,
    events_profile,
    open_bench,
    scale_set_body,
    terminate,
)

pytestmark = pytest.mark.anyio

SET = "virtualMachineScaleSets/web"


async def made(bench: Bench, capacity: int = 3, **more: Any) -> None:
    profile = {"scheduledEventsProfile": terminate(), **more.pop("profile", {})}
    await bench.put(SET, scale_set_body(capacity, profile=profile, **more), 201)
    await bench.read("web_0")


async def test_a_deletion_lasts_until_it_is_approved(bench: Bench) -> None:
    await made(bench)

    operation = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1"]})

    (event,) = bench.events("web_0")
    assert (event.type, event.status, event.resources) == ("Terminate", "Scheduled", ("web_1",))
    assert event.not_before == NOON + timedelta(minutes=10)
    assert await operation.status() == "InProgress"
    shown = await bench.get(SET)
    assert (shown["sku"]["capacity"], shown["properties"]["provisioningState"]) == (2, "Updating")
    assert (await bench.get(f"{SET}/virtualMachines/1"))["properties"]["provisioningState"] == "Deleting"
    assert (await bench.get(f"{SET}/instanceView"))["virtualMachine"]["statusesSummary"] == [
        {"code": "ProvisioningState/deleting", "count": 1},
        {"code": "ProvisioningState/succeeded", "count": 2},
    ]

    await bench.approve("web_0", event.event_id)
    await bench.advance(minutes=1)

    assert await operation.status() == "Succeeded"
    assert "web_1" not in bench.plane.region.vms
    assert (await bench.get(SET))["properties"]["provisioningState"] == "Succeeded"


async def test_an_instance_is_deleted_at_its_timeout_without_an_approval(bench: Bench) -> None:
    await made(bench)
    operation = await bench.begin("DELETE", f"{SET}/virtualMachines/1")
    await bench.ok("PATCH", SET, events_profile("PT15M"))
    await bench.begin("POST", f"{SET}/manualupgrade", {"instanceIds": ["*"]})

    await bench.advance(minutes=9, seconds=59)
    assert await operation.status() == "InProgress"
    await bench.advance(minutes=1)

    assert await operation.status() == "Succeeded"
    await bench.refused(404, "GET", f"{SET}/virtualMachines/1")


async def test_a_changed_timeout_counts_for_an_instance_that_has_the_latest_model(bench: Bench) -> None:
    await made(bench)
    await bench.ok("PATCH", SET, events_profile("PT5M"))
    await bench.begin("POST", f"{SET}/manualupgrade", {"instanceIds": ["2"]})

    await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1", "2"]})

    notices = {event.resources[0]: event.not_before for event in bench.events("web_0")}
    assert notices == {"web_1": NOON + timedelta(minutes=10), "web_2": NOON + timedelta(minutes=5)}


async def test_an_approved_deletion_waits_for_the_others_of_its_set(bench: Bench) -> None:
    await made(bench)
    first = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1"]})
    second = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["2"]})
    one, two = (event.event_id for event in bench.events("web_0"))

    await bench.approve("web_0", two)
    await bench.advance(minutes=1)
    assert [await first.status(), await second.status()] == ["InProgress", "InProgress"]

    await bench.approve("web_0", one)
    await bench.advance(minutes=1)
    assert [await first.status(), await second.status()] == ["Succeeded", "Succeeded"]


async def test_scale_in_waits_and_takes_neither_the_protected_nor_more_than_asked(bench: Bench) -> None:
    await made(bench)
    await bench.put(f"{SET}/virtualMachines/2", {"properties": {"protectionPolicy": {"protectFromScaleIn": "true"}}})

    operation = await bench.begin("PUT", SET, {"sku": {"name": "Standard_D2s_v5", "capacity": 2}}, 200)

    assert operation.reply.body["properties"]["provisioningState"] == "Updating"
    (event,) = bench.events("web_0")
    assert event.resources == ("web_1",)
    assert await operation.status() == "InProgress"
    await bench.advance(minutes=11)
    assert await operation.status() == "Succeeded"
    assert sorted(bench.plane.region.vms) == ["web_0", "web_2"]


async def test_the_deletion_of_a_set_lasts_until_its_last_instance_has_gone(bench: Bench) -> None:
    await made(bench)
    resource_id = (await bench.get(SET))["id"]

    operation = await bench.begin("DELETE", SET)

    assert len(bench.events("web_0")) == 3
    assert (await bench.get(SET))["properties"]["provisioningState"] == "Deleting"
    error = await bench.refused(409, "PATCH", SET, {"tags": {}})
    assert "is being deleted" in error["message"]
    await bench.advance(minutes=11)
    assert await operation.status() == "Succeeded"
    assert (await bench.refused(404, "GET", SET))["code"] == "ResourceNotFound"
    assert resource_id.lower() not in bench.plane.region.resources
    await bench.ok("DELETE", SET, status=204)


@pytest.mark.parametrize("verb", ["restart", "reimage", "redeploy", "poweroff", "deallocate", "performMaintenance"])
async def test_nothing_but_a_deletion_makes_a_terminate(bench: Bench, verb: str) -> None:
    await made(bench)

    await bench.begin("POST", f"{SET}/{verb}", {"instanceIds": ["0"]})

    assert "Terminate" not in {event.type for event in bench.events("web_0")}


async def test_a_second_deletion_waits_for_the_same_event(bench: Bench) -> None:
    await made(bench)
    await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1"]})

    again = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1"]})

    assert len(bench.events("web_0")) == 1
    assert (await bench.get(SET))["sku"]["capacity"] == 2
    assert await again.status() == "InProgress"
    await bench.advance(minutes=11)
    assert await again.status() == "Succeeded"


async def test_where_nobody_reads_it_is_done_at_once(bench: Bench) -> None:
    await bench.put(SET, scale_set_body(3, profile={"scheduledEventsProfile": terminate()}), 201)

    operation = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["*"]})

    assert await operation.status() == "Succeeded"
    assert not bench.plane.region.vms


async def test_the_operation_of_a_canceled_deletion_fails(bench: Bench) -> None:
    await made(bench)
    operation = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1"]})
    (event,) = bench.events("web_0")

    await bench.plane.submit(CancelEvents((event.event_id,), "changed my mind"), Origin("operator"))

    assert await operation.status() == "Failed"


async def test_an_operation_outlives_its_server() -> None:
    journal = MemoryJournal()
    async with open_bench(journal) as bench:
        await made(bench)
        operation = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1"]})
    async with open_bench(journal) as bench:
        operation = type(operation)(bench, operation.reply)
        assert await operation.status() == "InProgress"
        await bench.advance(minutes=11)
        assert await operation.status() == "Succeeded"


async def test_an_unknown_operation_is_not_found(bench: Bench) -> None:
    place = "/subscriptions/x/providers/Microsoft.Compute/locations/local/operations/none"

    assert (await bench.refused(404, "GET", place))["code"] == "NotFound"
