"""Every command that is documented to work does, typed into the real ``az``, and the VMs are told what they must be.

The region's clock stands still: a command that waits for VMs waits until they have approved, or the clock is moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.e2e.az_region import IMAGE, PASSWORD, AzRegion, side_by_side, summary

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NOT_SPOT = "(OperationNotAllowed) Operation 'simulateEviction' is allowed only for Spot Virtual Machines"


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzRegion]:
    """One for all; each test has names of its own in it, and leaves no event behind."""
    with AzRegion.start(tmp_path_factory.mktemp("region")) as started:
        started.run("group create -n shop -l westus")
        yield started


def powers(view: list[dict[str, Any]]) -> list[str]:
    codes = [status["code"] for each in view for status in each["instanceView"]["statuses"]]
    return [code.removeprefix("PowerState/") for code in codes if code.startswith("PowerState/")]


# Scale sets


def test_a_scale_set_is_made_and_changed(region: AzRegion) -> None:
    region.make_set("shop", "web", 3, "--terminate-notification-time", "10")
    web = "-g shop -n web"

    group, made, in_group, everywhere, instances = side_by_side(
        partial(region.run, "group show -n shop"),
        partial(region.run, f"vmss show {web}"),
        partial(region.run, "vmss list -g shop"),
        partial(region.run, "vmss list"),
        partial(region.run, f"vmss list-instances {web}"),
    )
    assert group["location"] == made["location"] == "westus"
    assert (made["sku"]["capacity"], made["orchestrationMode"]) == (3, "Uniform")
    assert _timeout(made) == {"enable": True, "notBeforeTimeout": "PT10M"}
    assert [each["name"] for each in in_group] == ["web"]
    assert "web" in [each["name"] for each in everywhere]
    assert [(each["instanceId"], each["name"]) for each in instances] == [
        ("0", "web_0"),
        ("1", "web_1"),
        ("2", "web_2"),
    ]
    assert [name for name in region.names() if name.startswith("web_")] == ["web_0", "web_1", "web_2"]

    usage = region.refused(f"vmss update {web} --enable-terminate-notification true")
    assert "please set --terminate-notification-time" in usage
    longer = region.run(f"vmss update {web} --enable-terminate-notification true --terminate-notification-time 12")
    assert _timeout(longer) == {"enable": True, "notBeforeTimeout": "PT12M"}
    assert longer["virtualMachineProfile"]["storageProfile"]["imageReference"]["publisher"] == "Canonical"
    assert _latest(region, web) == [False, False, False]
    region.run(f"vmss update-instances {web} --instance-ids *")
    assert _latest(region, web) == [True, True, True]

    grown = region.run(f"vmss scale {web} --new-capacity 4")
    protected = region.run(f"vmss update {web} --instance-id 3 --protect-from-scale-in true")
    assert (grown["sku"]["capacity"], protected["protectionPolicy"]["protectFromScaleIn"]) == (4, True)
    policy = region.run(f"vmss update {web} --enable-reboot true --enable-redeploy true --additional-events true")
    assert policy["scheduledEventsPolicy"]["userInitiatedReboot"] == {"automaticallyApprove": True}
    disabled = region.run(f"vmss update {web} --enable-terminate-notification false")
    assert not disabled["virtualMachineProfile"]["scheduledEventsProfile"]
    region.run(f"vmss scale {web} --new-capacity 1")

    of_all, of_one = side_by_side(
        partial(region.run, f"vmss get-instance-view {web}"),
        partial(region.run, f"vmss get-instance-view {web} --instance-id 3"),
    )
    assert of_all["virtualMachine"]["statusesSummary"] == [{"code": "ProvisioningState/succeeded", "count": 1}]
    assert powers([{"instanceView": of_one}]) == ["running"]


def _timeout(scale_set: dict[str, Any]) -> Any:
    return scale_set["virtualMachineProfile"]["scheduledEventsProfile"]["terminateNotificationProfile"]


def _latest(region: AzRegion, named: str) -> list[bool]:
    return [each["latestModelApplied"] for each in region.run(f"vmss list-instances {named}")]


def test_instances_of_a_scale_set_are_told_of_a_restart_and_stopped_and_started_by_az(region: AzRegion) -> None:
    region.server.forewarn("vmss", "create", "api", "--capacity", "3", "--terminate-notice", "10m")
    api, all_of_them = "-g forewarn -n api", [f"api_{number}" for number in range(3)]
    assert region.events("api_0") == []

    with region.running(f"vmss restart {api}") as command:
        events = region.told("api_0", 3)
        assert summary(events) == [("Reboot", [name]) for name in all_of_them]
        assert region.events("api_2") == events
        assert command.waits
        region.approve("api_1", *events)
        region.pass_minutes(2)

    side_by_side(
        partial(region.run, f"vmss deallocate {api} --instance-ids 0"),
        partial(region.run, f"vmss stop {api} --instance-ids 2"),
    )
    assert powers(region.run(f"vmss list-instances {api} --expand instanceView")) == [
        "deallocated",
        "running",
        "stopped",
    ]
    region.run(f"vmss deallocate {api} --instance-ids 1 2")
    assert [region.power(name) for name in all_of_them] == ["deallocated"] * 3
    region.run(f"vmss start {api}")
    assert [region.power(name) for name in all_of_them] == ["running"] * 3
    quiet = region.server.document("api_0")
    with region.time_passing():
        region.run(f"vmss reimage {api}")
    assert NOT_SPOT in region.refused(f"vmss simulate-eviction {api} --instance-id 1")
    assert region.server.document("api_0") == quiet

    region.run(f"vmss delete-instances {api} --instance-ids 2 --no-wait")
    with region.running(f"vmss delete {api}") as command:
        events = region.told("api_0", 3)
        assert sorted(summary(events)) == [("Terminate", [name]) for name in all_of_them]
        assert command.waits
        region.approve("api_0", *events)
        region.pass_minutes(1)
    assert not [name for name in region.names() if name.startswith("api_")]
    assert "ResourceNotFound" in region.refused(f"vmss show {api}", status=3)


def test_spot_instances_of_a_flexible_set_are_evicted(region: AzRegion) -> None:
    flexible = region.run(
        "vmss create -g shop -n cheap --instance-count 2 --priority Spot --eviction-policy Deallocate",
        *IMAGE,
        *PASSWORD,
    )["vmss"]
    assert flexible["orchestrationMode"] == "Flexible"
    names = [each["instanceId"] for each in region.run("vmss list-instances -g shop -n cheap")]
    assert len(names) == 2
    assert all(name.startswith("cheap_") and len(name) == len("cheap_") + 8 for name in names)
    assert region.events(names[0]) == []

    assert region.run(f"vmss simulate-eviction -g shop -n cheap --instance-id {names[0]}") is None
    assert summary(region.told(names[0])) == [("Preempt", [names[0]])]
    region.pass_minutes(1)
    assert [region.power(name) for name in names] == ["deallocated", "running"]
    assert summary(region.events(names[0])) == []

    region.run(f"vm simulate-eviction -g shop -n {names[1]}")
    (event,) = region.told(names[1])
    region.approve(names[1], event)
    region.pass_minutes(1)
    assert region.power(names[1]) == "deallocated"
    region.run(f"vmss delete-instances -g shop -n cheap --instance-ids {names[1]}")
    assert names[0] in region.names()
    assert names[1] not in region.names()


# Availability sets and VMs


def test_a_vm_in_an_availability_set_is_made_and_changed(region: AzRegion) -> None:
    create = "vm create -g shop -n front-0 --availability-set"
    assert "Availability set 'front' does not exist" in region.refused(f"{create} front", *IMAGE, *PASSWORD)
    region.run("vm availability-set create -g shop -n front --platform-fault-domain-count 2")
    made = region.run(f"{create} front", *IMAGE, *PASSWORD)
    assert (made["powerState"], made["resourceGroup"]) == ("VM running", "shop")
    assert made["privateIpAddress"]
    assert made["publicIpAddress"]

    shown, listed, changed, tagged = side_by_side(
        partial(region.run, "vm show -d -g shop -n front-0"),
        partial(region.run, "vm list -d -g shop"),
        partial(region.run, "vm update -g shop -n front-0 --enable-reboot true"),
        partial(region.run, "vm availability-set update -g shop -n front --set tags.team=web --enable-reboot true"),
    )
    assert (shown["powerState"], shown["privateIps"]) == ("VM running", made["privateIpAddress"])
    assert "front-0" in [each["name"] for each in listed]
    assert changed["scheduledEventsPolicy"]["userInitiatedReboot"] == {"automaticallyApprove": True}
    assert tagged["tags"] == {"team": "web"}

    assert region.events("front-0") == []
    with region.running("vm restart -g shop -n front-0"):
        assert summary(region.told("front-0", status="Started")) == [("Reboot", ["front-0"])]
        region.pass_minutes(2)
    region.run("vm delete --yes -g shop -n front-0")
    assert "front-0" not in region.names()
    assert "ResourceNotFound" in region.refused("vm show -g shop -n front-0", status=3)


def test_a_restart_waits_until_a_vm_has_approved_it(region: AzRegion) -> None:
    region.server.forewarn("vm", "create", "pair", "--count", "2", "--availability-set", "pair")
    assert region.events("pair-0") == []

    with region.running("vm restart -g forewarn -n pair-0") as command:
        (event,) = region.told("pair-1")
        assert (event["EventType"], event["Resources"], event["EventSource"]) == ("Reboot", ["pair-0"], "User")
        region.pass_minutes(10)
        assert region.events("pair-0") == [event]
        assert command.waits
        region.approve("pair-1", event)
        region.told("pair-0", status="Started")
        assert command.waits
        region.pass_minutes(2)
        assert '"status": "Succeeded"' in command.end()

    assert region.events("pair-0") == []
    asked = region.server.json("activity", "--about", "pair-0", "--door", "resource-manager")
    assert [each["who"] for each in asked] == ["az vm restart"]


def test_what_is_done_to_a_vm_is_told_to_it_or_done_at_once(region: AzRegion) -> None:
    region.server.forewarn("vm", "create", "lone")
    lone = "-g forewarn -n lone"
    assert region.events("lone") == []

    for verb in ("redeploy", "restart --force", "perform-maintenance"):
        with region.running(f"vm {verb} {lone}") as command:
            (event,) = region.told("lone")
            assert summary([event]) == [("Redeploy", ["lone"])]
            assert command.waits
            region.approve("lone", event)
            region.pass_minutes(3)

    for verb, power in (
        ("reapply", "running"),
        ("stop", "stopped"),
        ("start", "running"),
        ("deallocate", "deallocated"),
    ):
        region.run(f"vm {verb} {lone}")
        assert (region.power("lone"), region.events("lone")) == (power, [])
    assert NOT_SPOT in region.refused(f"vm simulate-eviction {lone}")
    region.run(f"vm delete --yes {lone}")
    assert "lone" not in region.names()
    region.run(f"vm delete --yes {lone}")
