"""scheduledEventsProfile: which timeouts there are, and for whom."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.web.resource_manager.compute.bench import Bench, scale_set_body, terminate

pytestmark = pytest.mark.anyio

SET, VM = "virtualMachineScaleSets/web", "virtualMachines/one"
AT = "properties.virtualMachineProfile.scheduledEventsProfile"


def set_with(profile: dict[str, Any], **more: Any) -> dict[str, Any]:
    return scale_set_body(profile={"scheduledEventsProfile": profile, **more})


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("PT5M", 5),
        ("PT15M", 15),
        ("PT300S", 5),
        ("P0DT0H10M0S", 10),
        ("pt7m30s", 7.5),
        ("PT0.25H", 15),
        (None, 5),
    ],
)
async def test_timeouts_of_five_to_fifteen_minutes_are_accepted_in_any_spelling(
    bench: Bench, text: str | None, minutes: float
) -> None:
    await bench.put(SET, set_with(terminate(text)), 201)

    assert bench.plane.region.scale_sets["web"].vm_spec.terminate_notice == timedelta(minutes=minutes)
    shown = (await bench.get(SET))["properties"]["virtualMachineProfile"]["scheduledEventsProfile"]
    assert shown == terminate(text or "PT5M", enable=True)


@pytest.mark.parametrize("text", ["PT4M59S", "PT15M0.1S", "PT1H", "P1D", "PT0S", "5", "10m", "", "PT-7M", "P1M"])
@pytest.mark.parametrize("enable", [True, False, None])
async def test_any_other_timeout_is_refused(bench: Bench, text: str, enable: bool | None) -> None:
    target = f"{AT}.terminateNotificationProfile.notBeforeTimeout"

    error = await bench.refused(400, "PUT", SET, set_with(terminate(text, enable)))

    assert (error["code"], error["target"]) == ("InvalidParameter", target)
    assert "between PT5M and PT15M" in error["message"]


async def test_an_os_image_is_announced_fifteen_minutes_before(bench: Bench) -> None:
    image = {"osImageNotificationProfile": {"enable": "true"}}
    await bench.put(SET, set_with(image), 201)

    assert bench.plane.region.vms["web_0"].spec.os_image_notice == timedelta(minutes=15)
    image["osImageNotificationProfile"]["notBeforeTimeout"] = "PT10M"
    error = await bench.refused(400, "PUT", SET, set_with(image))
    assert error["target"] == f"{AT}.osImageNotificationProfile.notBeforeTimeout"


@pytest.mark.parametrize("priority", ["Spot", "low"])
async def test_spot_instances_are_not_told_of_their_end(bench: Bench, priority: str) -> None:
    error = await bench.refused(400, "PUT", SET, set_with(terminate(), priority=priority))

    assert error["message"] == "Terminate notifications cannot be enabled on Spot instances."
    assert error["target"] == f"{AT}.terminateNotificationProfile.enable"
    await bench.put(SET, set_with(terminate(enable=False), priority=priority), 201)


async def test_a_vm_has_the_same_profile_beside_its_other_properties(bench: Bench) -> None:
    body = {"location": "westus", "properties": {"scheduledEventsProfile": terminate("PT6M")}}
    await bench.put(VM, body, 201)
    assert bench.plane.region.vms["one"].spec.terminate_notice == timedelta(minutes=6)

    error = await bench.refused(400, "PATCH", VM, {"properties": {"scheduledEventsProfile": terminate("PT60M")}})
    assert error["target"] == "properties.scheduledEventsProfile.terminateNotificationProfile.notBeforeTimeout"

    await bench.ok("PATCH", VM, {"properties": {"scheduledEventsProfile": terminate(None, enable=False)}})
    assert (await bench.get(VM))["properties"]["scheduledEventsProfile"] == {}
    assert bench.plane.region.vms["one"].spec.terminate_notice is None
