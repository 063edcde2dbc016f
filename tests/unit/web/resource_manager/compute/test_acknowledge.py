"""Microsoft.Maintenance: approvals from outside the VM."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.web.documents.whereabouts import SUBSCRIPTION
from tests.unit.web.resource_manager.compute.bench import Bench, Operation, path_of, scale_set_body, terminate

pytestmark = pytest.mark.anyio

SET = "virtualMachineScaleSets/web"
EVENTS = "providers/Microsoft.Maintenance/scheduledevents"
NOBODY = "00000000-0000-0000-0000-000000000000"
ALL_DONE = "Successfully approved all Scheduled Events in the list"


async def waiting(bench: Bench) -> tuple[Operation, list[str]]:
    """Two instances that wait for their end."""
    await bench.put(SET, scale_set_body(3, profile={"scheduledEventsProfile": terminate()}), 201)
    await bench.read("web_0")
    operation = await bench.begin("POST", f"{SET}/delete", {"instanceIds": ["1", "2"]})
    return operation, [event.event_id for event in bench.events("web_0")]


def approved(bench: Bench) -> list[str]:
    return sorted(event.id for event in bench.plane.region.events.values() if event.approved_at is not None)


async def test_one_event_is_acknowledged_and_starts(bench: Bench) -> None:
    operation, (one, two) = await waiting(bench)

    answer = await bench.ok("POST", f"{SET}/{EVENTS}/{one.lower()}/acknowledge")

    assert answer == {"value": "Successfully approved scheduled event"}
    assert approved(bench) == [one]
    assert bench.plane.region.events[one].approved_by == "resource manager: a test"
    await bench.ok("POST", f"{SET}/virtualMachines/2/{EVENTS}/{two}/acknowledge")
    await bench.advance(minutes=1)
    assert await operation.status() == "Succeeded"


@pytest.mark.parametrize(
    "place",
    [
        f"{SET}/{EVENTS}",
        f"{SET}/{EVENTS}/acknowledge",
        f"{SET}/virtualMachines/0/{EVENTS}",
        f"/subscriptions/{SUBSCRIPTION}/{EVENTS}/acknowledge",
    ],
)
async def test_several_events_are_acknowledged_at_once(bench: Bench, place: str) -> None:
    operation, ids = await waiting(bench)

    assert await bench.ok("POST", place, {"value": ids}) == {"value": ALL_DONE}

    await bench.advance(minutes=1)
    assert await operation.status() == "Succeeded"


async def test_of_several_those_that_are_there_are_approved(bench: Bench) -> None:
    _, (one, _) = await waiting(bench)

    answer = await bench.ok("POST", f"{SET}/{EVENTS}", {"value": [one, NOBODY]}, 207)

    assert answer["error"]["code"] == "MultiStatusResponse"
    assert answer["error"]["details"] == [
        {"target": NOBODY, "code": "NotFound", "message": "Scheduled event not found"}
    ]
    assert approved(bench) == [one]


async def test_events_of_a_lone_vm_and_of_an_availability_set_are_acknowledged(bench: Bench) -> None:
    await bench.put("availabilitySets/front", {"location": "westus"})
    front = {"properties": {"availabilitySet": {"id": path_of("availabilitySets/front")}}}
    await bench.put("virtualMachines/one", {"location": "westus"}, 201)
    await bench.put("virtualMachines/two", {"location": "westus", **front}, 201)
    await bench.read("one", "two")
    for name in ("one", "two"):
        await bench.begin("POST", f"virtualMachines/{name}/restart")
    (one,), (two,) = bench.events("one"), bench.events("two")

    error = await bench.refused(404, "POST", f"virtualMachines/one/{EVENTS}/{two.event_id}/acknowledge")
    assert error == {"code": "InvalidScheduledEventId", "message": "Scheduled event not found"}
    await bench.ok("POST", f"virtualMachines/one/{EVENTS}/{one.event_id}/acknowledge")
    await bench.ok("POST", f"availabilitySets/front/{EVENTS}/{two.event_id}/acknowledge")

    assert [bench.events(name)[0].status for name in ("one", "two")] == ["Started", "Started"]


@pytest.mark.parametrize("place", [f"{SET}/{EVENTS}", f"disks/web/{EVENTS}"])
@pytest.mark.parametrize("body", [None, {}, {"value": []}, {"value": NOBODY}, {"value": ["x"]}, {"value": [7]}])
async def test_what_names_no_events_is_refused(bench: Bench, place: str, body: Any) -> None:
    await waiting(bench)

    assert (await bench.refused(400, "POST", place, body))["code"] == "BadRequest"


async def test_what_is_not_there_has_no_events(bench: Bench) -> None:
    await waiting(bench)

    await bench.refused(404, "POST", f"{SET}/{EVENTS}/{NOBODY}/acknowledge")
    await bench.refused(404, "POST", f"virtualMachines/none/{EVENTS}/{NOBODY}/acknowledge")
    await bench.refused(404, "POST", f"virtualMachineScaleSets/none/{EVENTS}", {"value": [NOBODY]})
    await bench.refused(400, "POST", f"{SET}/{EVENTS}/none/acknowledge")
    await bench.refused(400, "POST", f"disks/web/{EVENTS}/{NOBODY}/acknowledge")
    await bench.refused(400, "POST", f"virtualMachines/web/virtualMachines/0/{EVENTS}", {"value": [NOBODY]})
