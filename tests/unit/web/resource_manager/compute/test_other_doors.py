"""One region: what came by another door is here too, and what the region knows lies over what a caller wrote."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core.commands import (
    CreateVms,
    DeleteVms,
    PutScaleSet,
    RespecifyVm,
    SetPolicy,
    Single,
)
from forewarn.core.region import replace
from forewarn.core.specs import (
    EvictionPolicy,
    Orchestration,
    Policy,
    ScaleInRule,
    ScaleSetSpec,
    ScopeKind,
    UpgradeMode,
    VmSpec,
)
from forewarn.plane.ports import Origin
from tests.unit.web.resource_manager.compute.bench import Bench, path_of, scale_set_body, terminate

pytestmark = pytest.mark.anyio

OURS = "forewarn"


async def do(bench: Bench, command: Single) -> None:
    await bench.plane.submit(command, Origin("operator"))


async def test_a_vm_of_the_command_line_is_in_a_group_of_its_own(bench: Bench) -> None:
    await do(bench, CreateVms(("desk",), VmSpec(size="Standard_B1s", tags=(("a", "b"),)), "SEED"))

    shown = await bench.get("virtualMachines/desk", group=OURS)

    assert (shown["id"], shown["location"], shown["tags"]) == (
        path_of("virtualMachines/desk", OURS),
        "local",
        {"a": "b"},
    )
    assert shown["properties"]["hardwareProfile"] == {"vmSize": "Standard_B1s"}
    assert shown["properties"]["osProfile"] == {"computerName": "desk"}
    assert (await bench.get("virtualMachines", group=OURS))["value"] == [shown]
    await bench.put("virtualMachines/desk", shown, group=OURS)
    await bench.ok("PATCH", "virtualMachines/desk", {"tags": {"c": "d"}}, group=OURS)
    changed = await bench.get("virtualMachines/desk", group=OURS)
    assert changed == {**shown, "tags": {"c": "d"}, "etag": '"3"'}


async def test_a_vm_of_windows_is_told_from_one_of_linux(bench: Bench) -> None:
    await do(bench, CreateVms(("database-of-the-shop",), VmSpec(os_type="Windows"), "SEED"))

    shown = (await bench.get("virtualMachines/database-of-the-shop", group=OURS))["properties"]

    assert shown["storageProfile"]["osDisk"]["osType"] == "Windows"
    assert shown["osProfile"] == {
        "computerName": "database-of-the",
        "windowsConfiguration": {"provisionVMAgent": True, "enableAutomaticUpdates": True},
    }


async def test_a_vm_changed_by_another_door_is_shown_as_it_is(bench: Bench) -> None:
    body = {"location": "westus", "properties": {"scheduledEventsProfile": terminate("PT300S")}}
    await bench.put("virtualMachines/one", body, 201)
    kept = (await bench.get("virtualMachines/one"))["properties"]["scheduledEventsProfile"]
    assert kept == terminate("PT300S", enable=True)

    spec = bench.plane.region.vms["one"].spec
    await do(bench, RespecifyVm("one", replace(spec, terminate_notice=timedelta(minutes=7), size="Standard_A9")))
    await do(bench, SetPolicy("vm/one", Policy(auto_approve_reboot=True)))

    properties = (await bench.get("virtualMachines/one"))["properties"]
    assert properties["scheduledEventsProfile"] == terminate("PT7M", enable=True)
    assert properties["hardwareProfile"] == {"vmSize": "Standard_A9"}
    assert properties["scheduledEventsPolicy"]["userInitiatedReboot"] == {"automaticallyApprove": True}
    await bench.ok("PATCH", "virtualMachines/one", {"tags": {}})
    assert bench.plane.region.vms["one"].spec.terminate_notice == timedelta(minutes=7)


async def test_what_was_kept_of_a_vm_goes_with_it_whoever_deletes_it(bench: Bench) -> None:
    await bench.put("virtualMachines/one", {"location": "westus"}, 201)

    await do(bench, DeleteVms(("one",), "SEED"))

    assert not bench.plane.region.resources
    assert not bench.plane.region.owned


async def test_a_scale_set_made_by_the_command_line_is_shown(bench: Bench) -> None:
    spec = ScaleSetSpec(UpgradeMode.ROLLING, ScaleInRule.OLDEST_VM, Policy(auto_approve_redeploy=True))
    vm = VmSpec(spot=True, eviction_policy=EvictionPolicy.DELETE, os_type="Windows")
    await do(bench, PutScaleSet("web", OURS, vm, "SEED", spec, capacity=2))
    place = "virtualMachineScaleSets/web"

    shown = await bench.get(place, group=OURS)

    assert shown["sku"] == {"name": "Standard_D2s_v5", "tier": "Standard", "capacity": 2}
    properties = shown["properties"]
    batches = {"maxBatchInstancePercent": 20, "pauseTimeBetweenBatches": "PT0S"}
    assert properties["upgradePolicy"] == {"mode": "Rolling", "rollingUpgradePolicy": batches}
    assert properties["scaleInPolicy"] == {"rules": ["OldestVM"]}
    assert properties["scheduledEventsPolicy"]["userInitiatedRedeploy"] == {"automaticallyApprove": True}
    profile = properties["virtualMachineProfile"]
    assert (profile["priority"], profile["evictionPolicy"]) == ("Spot", "Delete")
    assert profile["storageProfile"]["osDisk"]["osType"] == "Windows"
    configuration = {"provisionVMAgent": True, "enableAutomaticUpdates": True}
    assert profile["osProfile"] == {"computerNamePrefix": "web", "windowsConfiguration": configuration}
    instance = await bench.get(f"{place}/virtualMachines/0", group=OURS)
    assert instance["properties"]["osProfile"] == {
        "computerName": "web000000",
        "windowsConfiguration": configuration,
    }
    assert [each["name"] for each in (await bench.get("virtualMachineScaleSets", group=OURS))["value"]] == ["web"]
    model = bench.plane.region.scale_sets["web"].model
    await bench.put(place, shown, group=OURS)
    assert bench.plane.region.scale_sets["web"].model == model
    assert await bench.get(place, group=OURS) == {**shown, "etag": '"2"'}


async def test_a_scale_set_changed_by_another_door_is_shown_as_it_is(bench: Bench) -> None:
    profile = {"scheduledEventsProfile": terminate()}
    await bench.put("virtualMachineScaleSets/web", scale_set_body(2, profile=profile), 201)
    vm_spec = bench.plane.region.scale_sets["web"].vm_spec

    await do(bench, PutScaleSet("web", "rg1", replace(vm_spec, terminate_notice=None), "SEED", capacity=5))

    shown = await bench.get("virtualMachineScaleSets/web")
    assert shown["sku"]["capacity"] == 5
    assert shown["properties"]["virtualMachineProfile"]["scheduledEventsProfile"] == {}


async def test_availability_sets_and_cloud_service_vms_made_by_the_command_line_can_be_shown_and_changed(
    bench: Bench,
) -> None:
    front = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front")
    await do(bench, CreateVms(("one",), front, "SEED"))
    await do(bench, CreateVms(("two",), VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="shop", role="FE"), "SEED2"))

    shown = await bench.get("availabilitySets/front", group=OURS)

    assert shown["properties"]["virtualMachines"] == [{"id": path_of("virtualMachines/one", OURS)}]
    assert shown["properties"]["platformUpdateDomainCount"] == 5
    one = await bench.get("virtualMachines/one", group=OURS)
    assert one["properties"]["availabilitySet"] == {"id": path_of("availabilitySets/front", OURS)}
    await bench.put("virtualMachines/one", one, group=OURS)
    await bench.ok("PATCH", "virtualMachines/two", {"tags": {"a": "b"}}, group=OURS)
    assert bench.plane.region.vms["two"].spec.role == "FE"


async def test_a_flexible_scale_set_made_by_the_command_line_is_shown(bench: Bench) -> None:
    await do(bench, PutScaleSet("web", OURS, VmSpec(), "S", orchestration=Orchestration.FLEXIBLE, capacity=1))

    (listed,) = (await bench.get("virtualMachines", group=OURS))["value"]

    assert listed["location"] == "local"
    assert listed["properties"]["osProfile"] == {"computerName": "web000000"}


async def test_whether_something_is_there_can_be_asked_alone(bench: Bench) -> None:
    await bench.put("availabilitySets/a", {"location": "westus"})
    await bench.put("virtualMachines/b", {"location": "westus"}, 201)
    await bench.put("virtualMachineScaleSets/c", scale_set_body(), 201)

    for place in ("availabilitySets/a", "virtualMachines/b", "virtualMachineScaleSets/c"):
        assert await bench.ok("HEAD", place, status=204) is None
        await bench.refused(404, "HEAD", f"{place}x")
