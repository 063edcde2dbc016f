"""Virtual machines of their own."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core.specs import ScopeKind
from tests.unit.web.resource_manager.compute.bench import NOON, Bench, path_of, terminate

pytestmark = pytest.mark.anyio

VM, SET = "virtualMachines/one", "availabilitySets/front"
ON, OFF = {"automaticallyApprove": True}, {"automaticallyApprove": False}


def vm_body(**properties: Any) -> dict[str, Any]:
    """Much as ``az vm create`` writes it."""
    return {
        "location": "westus",
        "tags": {},
        "properties": {
            "hardwareProfile": {"vmSize": "Standard_DS1_v2"},
            "networkProfile": {"networkInterfaces": [{"id": "/nic", "properties": {"deleteOption": None}}]},
            "storageProfile": {"osDisk": {"createOption": "fromImage", "name": None, "caching": "ReadWrite"}},
            "osProfile": {"computerName": "one", "adminUsername": "me", "adminPassword": "not to be kept"},
            **properties,
        },
    }


async def made(bench: Bench, place: str = VM, **properties: Any) -> None:
    operation = await bench.begin("PUT", place, vm_body(**properties), 201)
    assert operation.reply.body["properties"]["provisioningState"] == "Creating"
    assert await operation.status() == "Succeeded"


async def test_a_vm_is_told_back_with_what_the_service_adds(bench: Bench) -> None:
    await made(bench)

    reply = await bench.ask("GET", VM)

    shown, vm = reply.body, bench.plane.region.vms["one"]
    assert (shown["name"], shown["id"], shown["type"]) == ("one", path_of(VM), "Microsoft.Compute/virtualMachines")
    assert reply.headers["ETag"] == shown["etag"] == '"1"'
    properties = shown["properties"]
    assert properties["vmId"] == vm.vm_id
    assert properties["provisioningState"] == "Succeeded"
    assert properties["timeCreated"] == NOON.isoformat()
    assert properties["osProfile"] == {"computerName": "one", "adminUsername": "me"}
    assert properties["storageProfile"]["osDisk"]["osType"] == "Linux"
    assert vm.spec.size == "Standard_DS1_v2"
    assert "instanceView" not in properties
    view = (await bench.get(VM, expand="instanceView"))["properties"]["instanceView"]
    assert view == await bench.get(f"{VM}/instanceView")
    assert "placementGroupId" not in view


async def test_paths_are_compared_without_case_and_names_keep_theirs(bench: Bench) -> None:
    await made(bench, "virtualMachines/One")

    shown = await bench.get("VIRTUALMACHINES//ONE", group="RG1")

    assert (shown["name"], shown["id"]) == ("One", path_of("virtualMachines/One"))
    await bench.put("virtualMachines/ONE", vm_body())
    assert [vm.name for vm in bench.plane.region.vms.values()] == ["One"]


async def test_a_put_is_a_merge_and_a_patch_too(bench: Bench) -> None:
    await made(bench, userData="aGk=")
    await bench.put(VM, {"location": "West US", "tags": {"a": "1", "b": "2"}, "properties": {}})
    await bench.ok("PATCH", VM, {"tags": {"c": "3"}, "properties": {"hardwareProfile": {"vmSize": "Standard_A1"}}})

    shown = await bench.get(VM)

    assert shown["tags"] == {"c": "3"}
    assert shown["properties"]["hardwareProfile"] == {"vmSize": "Standard_A1"}
    assert shown["properties"]["networkProfile"]["networkInterfaces"][0]["id"] == "/nic"
    assert shown["etag"] == '"3"'
    assert bench.plane.region.vms["one"].spec.tags == (("c", "3"),)
    assert "userData" not in shown["properties"]
    assert (await bench.get(VM, expand="userData"))["properties"]["userData"] == "aGk="


async def test_a_vm_keeps_a_policy_that_turns_nothing_on(bench: Bench) -> None:
    await made(bench, scheduledEventsPolicy={"userInitiatedReboot": ON})
    assert bench.plane.region.scopes["vm/one"].policy.auto_approve_reboot

    await bench.ok(
        "PATCH",
        VM,
        {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": OFF, "userInitiatedRedeploy": {}}}},
    )

    shown = (await bench.get(VM))["properties"]["scheduledEventsPolicy"]
    assert shown == {"userInitiatedReboot": OFF, "userInitiatedRedeploy": OFF}
    assert not bench.plane.region.scopes["vm/one"].policy.auto_approve_reboot


async def test_a_vm_is_put_into_an_availability_set_and_stays_there(bench: Bench) -> None:
    await bench.put(SET, {"location": "westus"})

    await made(bench, availabilitySet={"id": path_of("AvailabilitySets/FRONT")})

    vm = bench.plane.region.vms["one"]
    assert (vm.spec.kind, vm.spec.set_name) == (ScopeKind.AVAILABILITY_SET, "front")
    assert (await bench.get(VM))["properties"]["availabilitySet"] == {"id": path_of(SET)}
    assert (await bench.get(SET))["properties"]["virtualMachines"] == [{"id": path_of(VM)}]
    await bench.ok("PATCH", VM, {"properties": {"scheduledEventsPolicy": {"userInitiatedReboot": ON}}})
    assert not bench.plane.region.scopes["availability-set/front"].policy.auto_approve_reboot


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("front", "LinkedInvalidPropertyId"),
        ("", None),
        (path_of("virtualMachines/front"), "LinkedInvalidPropertyId"),
        (path_of("availabilitySets"), "LinkedInvalidPropertyId"),
        (path_of("availabilitySets/back"), "InvalidResourceReference"),
        (path_of("availabilitySets/front", "rg2"), "InvalidResourceReference"),
    ],
)
async def test_an_availability_set_must_be_there(bench: Bench, reference: str, code: str | None) -> None:
    await bench.put(SET, {"location": "westus"})
    body = vm_body(availabilitySet={"id": reference})
    if code is None:
        await bench.put(VM, body, 201)
        return

    error = await bench.refused(400, "PUT", VM, body)

    assert (error["code"], error["target"]) == (code, "properties.availabilitySet.id")


@pytest.mark.parametrize(
    ("change", "target"),
    [
        ({"properties": {"availabilitySet": {"id": path_of(SET)}}}, "availabilitySet.id"),
        ({"properties": {"priority": "Spot"}}, "priority"),
        ({"location": "eastus"}, "location"),
    ],
)
async def test_what_was_said_for_good_cannot_be_changed(bench: Bench, change: dict[str, Any], target: str) -> None:
    await bench.put(SET, {"location": "westus"})
    await made(bench)

    assert (await bench.refused(409, "PATCH", VM, change))["target"] == target


@pytest.mark.parametrize("name", ["-one", "one.", "o~ne", "a" * 81])
async def test_a_name_that_no_vm_can_have_is_refused(bench: Bench, name: str) -> None:
    error = await bench.refused(400, "PUT", f"virtualMachines/{name}", vm_body())

    assert (error["code"], error["target"]) == ("InvalidParameter", "vmName")


async def test_a_vm_of_that_name_in_another_group_is_in_the_way(bench: Bench) -> None:
    await made(bench)

    error = await bench.refused(409, "PUT", VM, vm_body(), group="rg2")

    assert error["message"] == "A VM named 'one' exists already, in resource group 'rg1'."
    await bench.refused(404, "GET", VM, group="rg2")


async def test_a_vm_cannot_be_put_into_a_scale_set(bench: Bench) -> None:
    body = vm_body(virtualMachineScaleSet={"id": path_of("virtualMachineScaleSets/web")})

    assert (await bench.refused(400, "PUT", VM, body))["target"] == "properties.virtualMachineScaleSet"


@pytest.mark.parametrize("place", [VM, f"{VM}/instanceView"])
async def test_an_unknown_vm_is_not_found(bench: Bench, place: str) -> None:
    error = await bench.refused(404, "GET", place)

    assert error == {
        "code": "ResourceNotFound",
        "message": "The Resource 'Microsoft.Compute/virtualMachines/one' under resource group 'rg1' was not found. "
        "For more details please go to https://aka.ms/ARMResourceNotFoundFix",
    }
    await bench.refused(404, "PATCH", VM, {})
    for verb in ("restart", "redeploy", "reapply", "simulateEviction"):
        assert (await bench.refused(404, "POST", f"{VM}/{verb}"))["code"] == "ResourceNotFound"
    await bench.ok("DELETE", VM, status=204)


# What can be done to one


async def test_a_restart_lasts_until_it_was_approved_and_is_over(bench: Bench) -> None:
    await made(bench)
    await bench.read("one")

    operation = await bench.begin("POST", f"{VM}/restart")

    assert (operation.reply.body, operation.reply.headers["Retry-After"]) == (None, "1")
    (event,) = bench.events("one")
    assert (event.type, event.source) == ("Reboot", "User")
    assert await operation.status() == "InProgress"
    assert (await bench.get(VM))["properties"]["provisioningState"] == "Updating"
    await bench.approve("one", event.event_id)
    assert (await bench.get(f"{VM}/instanceView"))["statuses"][1]["code"] == "PowerState/starting"
    await bench.advance(minutes=2)
    assert await operation.status() == "Succeeded"
    assert bench.plane.region.vms["one"].boots == 2


@pytest.mark.parametrize("verb", ["redeploy", "performMaintenance"])
async def test_a_redeployment_changes_the_host(bench: Bench, verb: str) -> None:
    await made(bench)
    host = bench.plane.region.vms["one"].host

    operation = await bench.begin("POST", f"{VM}/{verb}")
    await bench.advance(minutes=2)

    assert await operation.status() == "Succeeded"
    assert bench.plane.region.vms["one"].host != host


async def test_power_operations_change_the_power_state_and_a_deallocated_vm_refuses_the_others(bench: Bench) -> None:
    await made(bench)
    codes = []
    for verb in ("powerOff", "start", "deallocate"):
        assert await (await bench.begin("POST", f"{VM}/{verb}")).status() == "Succeeded"
        codes.append((await bench.get(f"{VM}/instanceView"))["statuses"][1]["code"])

    assert codes == ["PowerState/stopped", "PowerState/running", "PowerState/deallocated"]
    for verb in ("restart", "redeploy", "reimage"):
        assert (await bench.refused(409, "POST", f"{VM}/{verb}"))["code"] == "OperationNotAllowed"


async def test_reimaging_reboots_and_reapplying_does_nothing(bench: Bench) -> None:
    await made(bench)

    reapplied = await bench.begin("POST", f"{VM}/reapply")
    reimaged = await bench.begin("POST", f"{VM}/reimage", {"tempDisk": True})
    await bench.advance(minutes=2)

    assert [await reapplied.status(), await reimaged.status()] == ["Succeeded", "Succeeded"]
    assert bench.plane.region.vms["one"].boots == 2


async def test_a_computer_name_that_windows_cannot_have_is_refused(bench: Bench) -> None:
    for name in ("database-of-the-shop", "2026", "data_base", "db.shop"):
        system: dict[str, Any] = {"computerName": name, "adminUsername": "me", "windowsConfiguration": {}}
        reply = await bench.ask("PUT", VM, vm_body(osProfile=system))
        assert reply.status == 400
        assert "Windows computer name cannot be more than 15 characters long" in reply.body["error"]["message"]
    assert not bench.plane.region.vms
    await made(bench, osProfile={"computerName": "database-of-the-shop", "linuxConfiguration": {}})


async def test_the_eleventh_user_operation_is_refused(bench: Bench) -> None:
    for number in range(11):
        await bench.put(f"virtualMachines/vm{number}", vm_body(), 201)
        await bench.read(f"vm{number}")
    for number in range(10):
        await bench.begin("POST", f"virtualMachines/vm{number}/restart")

    error = await bench.refused(409, "POST", "virtualMachines/vm10/restart")

    assert (error["code"], "user_operation_limit" in error["message"]) == ("OperationNotAllowed", True)


async def test_a_spot_vm_is_evicted_by_simulate_eviction(bench: Bench) -> None:
    await made(bench, priority="Spot", evictionPolicy="Delete")
    await bench.read("one")

    await bench.ok("POST", f"{VM}/simulateEviction", status=204)

    assert [event.type for event in bench.events("one")] == ["Preempt"]
    await bench.advance(minutes=1)
    await bench.refused(404, "GET", VM)
    await made(bench, "virtualMachines/two")
    error = await bench.refused(409, "POST", "virtualMachines/two/simulateEviction")
    assert error["message"] == "Operation 'simulateEviction' is allowed only for Spot Virtual Machines"


async def test_a_deletion_with_notice_lasts_until_it_is_approved_and_then_the_name_is_free_again(bench: Bench) -> None:
    await made(bench, scheduledEventsProfile=terminate("PT5M"), licenseType="old")
    await bench.read("one")

    operation = await bench.begin("DELETE", VM)

    assert (await bench.get(VM))["properties"]["provisioningState"] == "Deleting"
    assert "marked for deletion" in (await bench.refused(409, "PATCH", VM, {"tags": {}}))["message"]
    await bench.advance(minutes=6)
    assert await operation.status() == "Succeeded"
    assert not bench.plane.region.resources
    await made(bench)
    shown = await bench.get(VM)
    assert (shown["etag"], "licenseType" in shown["properties"]) == ('"1"', False)


async def test_vms_are_listed_by_group_and_for_the_whole_subscription(bench: Bench) -> None:
    await made(bench)
    await bench.put("virtualMachines/two", vm_body(), 201, group="rg2")

    async def names(place: str) -> list[str]:
        return [each["name"] for each in (await bench.get(place))["value"]]

    assert await names("virtualMachines") == ["one"]
    subscription = path_of("").partition("/resourceGroups")[0]
    assert await names(f"{subscription}/providers/Microsoft.Compute/virtualMachines") == ["one", "two"]
    page = await bench.get("virtualMachines", expand="instanceView")
    assert page["value"][0]["properties"]["instanceView"]["statuses"]


async def test_unknown_methods_and_unknown_verbs_are_refused(bench: Bench) -> None:
    await made(bench)

    assert (await bench.refused(405, "POST", VM, {}))["code"] == "MethodNotAllowed"
    await bench.refused(404, "POST", f"{VM}/sing", {})
