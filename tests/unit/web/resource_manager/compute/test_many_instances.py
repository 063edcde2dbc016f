"""A thousand instances in one scale set."""

from __future__ import annotations

import pytest

from tests.unit.web.resource_manager.compute.bench import Bench, scale_set_body, terminate

pytestmark = pytest.mark.anyio

SET = "virtualMachineScaleSets/web"


async def test_a_scale_set_of_a_thousand_instances_is_made_scaled_in_and_its_deletions_approved(bench: Bench) -> None:
    body = scale_set_body(1000, profile={"scheduledEventsProfile": terminate("PT5M")})
    made = await bench.begin("PUT", SET, body, 201)
    assert await made.status() == "Succeeded"
    groups = [scope for scope in bench.plane.region.scopes.values() if scope.members]
    assert [len(scope.members) for scope in groups] == [100] * 10
    await bench.read(*(next(iter(scope.members)) for scope in groups))

    scaled = await bench.begin("PUT", SET, {"sku": {"name": "Standard_D2s_v5", "capacity": 900}}, 200)

    going = [event for event in bench.plane.region.events.values() if event.announced]
    assert (len(going), {event.phase.value for event in going}) == (100, {"scheduled"})
    for scope in groups:
        ids = [event.id for event in going if event.scope == scope.key]
        if ids:
            await bench.approve(next(iter(scope.members)), *ids)
    await bench.advance(minutes=1)
    assert await scaled.status() == "Succeeded"
    assert len(bench.plane.region.vms) == 900

    seen: list[str] = []
    query: dict[str, str] = {}
    while True:
        page = await bench.get(f"{SET}/virtualMachines", **query)
        seen += [each["instanceId"] for each in page["value"]]
        if "nextLink" not in page:
            break
        query = {"skiptoken": page["nextLink"].rpartition("$skiptoken=")[2]}
    assert len(set(seen)) == 900
    summary = (await bench.get(f"{SET}/instanceView"))["virtualMachine"]["statusesSummary"]
    assert summary == [{"code": "ProvisioningState/succeeded", "count": 900}]
