"""The sequence that users of azure-mgmt-compute know, against a forewarn region. Run by ``tests/e2e/test_sdk.py``.

It runs in an environment of its own, with nothing of forewarn in it. What it finds it prints as JSON.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from azure.core.exceptions import HttpResponseError
from azure.identity import ManagedIdentityCredential
from azure.mgmt.compute import ComputeManagementClient

MANAGER = os.environ["AZURE_RESOURCE_MANAGER_URL"]
METADATA = os.environ["STORY_METADATA"]
SUBSCRIPTION = os.environ["AZURE_SUBSCRIPTION_ID"]
GROUP, LOCATION = "sdk", "westus"
PATIENCE_SECONDS = 60
found: dict[str, Any] = {}


class Follow:
    """Every answer that is to be followed says how soon."""

    def __init__(self) -> None:
        self.followed = 0
        self.silent: list[str] = []

    def __call__(self, response: Any) -> None:
        request, answer = response.http_request, response.http_response
        followed = answer.status_code == 202 or "Azure-AsyncOperation" in answer.headers
        if "/operations/" in request.url and answer.status_code == 200 and answer.text():
            followed = answer.json()["status"] == "InProgress"
        if followed:
            self.followed += 1
            if int(answer.headers.get("Retry-After", 0)) < 1:
                self.silent.append(f"{request.method} {request.url}")


def metadata(vm: str, body: dict[str, Any] | None = None) -> Any:
    """What a VM reads, or posts."""
    url = f"{METADATA}/vm/{vm}/metadata/scheduledevents?api-version=2020-07-01"
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"Metadata": "true"})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def approve(vm: str, wanted: str) -> str:
    """Wait for an event of that type and let it start; whom it hits."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for event in metadata(vm)["Events"]:
            if event["EventType"] == wanted and event["EventStatus"] == "Scheduled":
                metadata(vm, {"StartRequests": [{"EventId": event["EventId"]}]})
                return str(event["Resources"][0])
        time.sleep(0.2)
    raise SystemExit(f"no {wanted} was seen by {vm}")


def until(question: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not question():
        if time.monotonic() > deadline:
            raise SystemExit("waited in vain")
        time.sleep(0.2)


def make_group(credential: ManagedIdentityCredential) -> None:
    token = credential.get_token(f"{MANAGER}/.default").token
    url = f"{MANAGER}/subscriptions/{SUBSCRIPTION}/resourcegroups/{GROUP}?api-version=2024-11-01"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps({"location": LOCATION}).encode(), headers, method="PUT")
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 201


def model(capacity: int, **profile: Any) -> dict[str, Any]:
    return {
        "location": LOCATION,
        "sku": {"name": "Standard_D2s_v5", "capacity": capacity},
        "properties": {
            "orchestrationMode": "Uniform",
            "upgradePolicy": {"mode": "Manual"},
            "virtualMachineProfile": {
                "osProfile": {"computerNamePrefix": "web", "adminUsername": "me"},
                "storageProfile": {"imageReference": {"publisher": "Canonical", "offer": "jammy", "sku": "22_04-lts"}},
                **profile,
            },
        },
    }


def terminate(timeout: str) -> dict[str, Any]:
    notification = {"notBeforeTimeout": timeout, "enable": True}
    return {"scheduledEventsProfile": {"terminateNotificationProfile": notification}}


def power(view: Any) -> str:
    return str(next(status.code for status in view.statuses if status.code.startswith("PowerState/")))


def refused(call: Callable[[], Any]) -> list[Any]:
    try:
        call()
    except HttpResponseError as no:
        return [type(no).__name__, no.status_code, no.error.code if no.error else None, no.error and no.error.message]
    return ["not refused"]


def scale_sets(client: ComputeManagementClient) -> None:
    sets, instances = client.virtual_machine_scale_sets, client.virtual_machine_scale_set_vms
    made = sets.begin_create_or_update(GROUP, "web", model(3, **terminate("PT10M"))).result()
    profile = made.properties.virtual_machine_profile.scheduled_events_profile.terminate_notification_profile
    found["created"] = [made.provisioning_state, made.sku.capacity, profile.not_before_timeout, profile.enable]
    changed = sets.begin_update(GROUP, "web", {"properties": {"virtualMachineProfile": terminate("PT5M")}}).result()
    profile = changed.properties.virtual_machine_profile.scheduled_events_profile.terminate_notification_profile
    found["updated"] = [profile.not_before_timeout, changed.etag]
    found["latest"] = [vm.properties.latest_model_applied for vm in instances.list(GROUP, "web")]
    sets.begin_update_instances(GROUP, "web", {"instanceIds": ["*"]}).result()
    found["latest after"] = [vm.properties.latest_model_applied for vm in instances.list(GROUP, "web")]

    metadata("web_0")
    going = sets.begin_delete_instances(GROUP, "web", {"instanceIds": ["1"]})
    found["waits"] = not going.done()
    found["terminated"] = approve("web_0", "Terminate")
    going.result()
    found["left"] = [vm.instance_id for vm in instances.list(GROUP, "web")]
    redeployed = instances.begin_redeploy(GROUP, "web", "2")
    found["redeployed"] = approve("web_0", "Redeploy")
    redeployed.result()
    view = instances.get_instance_view(GROUP, "web", "2")
    found["instance view"] = [power(view), view.platform_update_domain, bool(view.placement_group_id)]
    found["summary"] = [
        (each.code, each.count) for each in sets.get_instance_view(GROUP, "web").virtual_machine.statuses_summary
    ]

    spot = sets.begin_create_or_update(GROUP, "cheap", model(1, priority="Spot", evictionPolicy="Deallocate")).result()
    found["spot"] = spot.properties.virtual_machine_profile.priority
    instances.simulate_eviction(GROUP, "cheap", "0")
    until(lambda: power(instances.get_instance_view(GROUP, "cheap", "0")) == "PowerState/deallocated")
    found["many"] = sets.begin_create_or_update(GROUP, "big", model(250)).result().sku.capacity
    found["listed"] = len(list(instances.list(GROUP, "big", expand="instanceView")))
    for name in ("web", "cheap", "big"):
        gone = sets.begin_delete(GROUP, name)
        if name == "web":
            for _ in range(2):
                approve("web_0", "Terminate")
        gone.result()
    found["sets left"] = [each.name for each in sets.list(GROUP)]


def machines(client: ComputeManagementClient) -> None:
    sets, vms = client.availability_sets, client.virtual_machines
    front = sets.create_or_update(GROUP, "front", {"location": LOCATION, "sku": {"name": "Aligned"}})
    properties = {"hardwareProfile": {"vmSize": "Standard_DS1_v2"}, "availabilitySet": {"id": front.id}}
    made = vms.begin_create_or_update(GROUP, "one", {"location": LOCATION, "properties": properties}).result()
    found["vm"] = [made.provisioning_state, made.hardware_profile.vm_size, bool(made.vm_id)]
    metadata("one")
    restarting = vms.begin_restart(GROUP, "one")
    found["restarted"] = approve("one", "Reboot")
    restarting.result()
    redeploying = vms.begin_redeploy(GROUP, "one")
    approve("one", "Redeploy")
    redeploying.result()
    vms.begin_update(GROUP, "one", {"tags": {"team": "web"}}).result()
    found["tags"] = vms.get(GROUP, "one").tags
    vms.begin_deallocate(GROUP, "one").result()
    found["power"] = power(vms.instance_view(GROUP, "one"))
    vms.begin_start(GROUP, "one").result()
    vms.begin_power_off(GROUP, "one").result()
    found["expanded"] = power(vms.get(GROUP, "one", expand="instanceView").properties.instance_view)
    found["not spot"] = refused(lambda: vms.simulate_eviction(GROUP, "one"))
    spot = {"location": LOCATION, "properties": {"priority": "Spot", "evictionPolicy": "Delete"}}
    vms.begin_create_or_update(GROUP, "cheap", spot).result()
    vms.simulate_eviction(GROUP, "cheap")
    until(lambda: "cheap" not in {vm.name for vm in vms.list(GROUP)})
    vms.begin_delete(GROUP, "one").result()
    vms.begin_delete(GROUP, "one").result()
    sets.delete(GROUP, "front")


def absent(client: ComputeManagementClient) -> None:
    instances = client.virtual_machine_scale_set_vms
    found["no vm"] = refused(lambda: client.virtual_machines.get(GROUP, "none"))
    found["no group"] = refused(lambda: client.virtual_machines.get("none", "none"))
    found["no action"] = refused(lambda: client.virtual_machines.begin_restart(GROUP, "none"))
    client.virtual_machine_scale_sets.begin_create_or_update(GROUP, "small", model(1)).result()
    found["no instance"] = refused(lambda: instances.get(GROUP, "small", "7"))
    found["too long"] = refused(
        lambda: client.virtual_machine_scale_sets.begin_create_or_update(GROUP, "long", model(1, **terminate("PT60M")))
    )


def main() -> None:
    credential, follow = ManagedIdentityCredential(), Follow()
    make_group(credential)
    client = ComputeManagementClient(
        credential,
        SUBSCRIPTION,
        base_url=MANAGER,
        credential_scopes=[f"{MANAGER}/.default"],
        raw_response_hook=follow,
    )
    machines(client)
    scale_sets(client)
    absent(client)
    found["followed"] = follow.followed > 20
    found["silent"] = follow.silent
    print(json.dumps(found))


main()
