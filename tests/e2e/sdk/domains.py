"""Sets with every number of domains that Azure allows, made with azure-mgmt-compute. Run by ``tests/e2e/test_sdk.py``.

What each VM or instance is told of its domains is printed as JSON: by its instance view and by its own metadata.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

from azure.identity import ManagedIdentityCredential
from azure.mgmt.compute import ComputeManagementClient

MANAGER = os.environ["AZURE_RESOURCE_MANAGER_URL"]
METADATA = os.environ["STORY_METADATA"]
SUBSCRIPTION = os.environ["AZURE_SUBSCRIPTION_ID"]
GROUP, LOCATION = "forewarn", "westus"


def own_metadata(vm: str) -> dict[str, Any]:
    url = f"{METADATA}/vm/{vm}/metadata/instance/compute?api-version=2021-02-01"
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Metadata": "true"}), timeout=60) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def told(view: Any, vm: str) -> list[int]:
    """(update, fault) domain, once the two who tell it agree."""
    own = own_metadata(vm)
    domains = [view.platform_update_domain, view.platform_fault_domain]
    assert [str(each) for each in domains] == [own["platformUpdateDomain"], own["platformFaultDomain"]]
    return domains


def availability_set(client: ComputeManagementClient, update: int, fault: int) -> dict[str, Any]:
    name = f"as-{update}-{fault}"
    body = {
        "location": LOCATION,
        "sku": {"name": "Aligned"},
        "properties": {"platformUpdateDomainCount": update, "platformFaultDomainCount": fault},
    }
    made = client.availability_sets.create_or_update(GROUP, name, body)
    vms = [f"{name}-{number}" for number in range(max(update, fault) + 1)]
    for vm in vms:
        machine = {"location": LOCATION, "properties": {"availabilitySet": {"id": made.id}}}
        client.virtual_machines.begin_create_or_update(GROUP, vm, machine, polling=False)
    views = [told(client.virtual_machines.instance_view(GROUP, vm), vm) for vm in vms]
    counts = [made.properties.platform_update_domain_count, made.properties.platform_fault_domain_count]
    return {"counts": counts, "domains": views}


def scale_set(client: ComputeManagementClient, mode: str, count: int) -> dict[str, Any]:
    name = f"{mode.lower()}-{count}"
    body = {
        "location": LOCATION,
        "sku": {"name": "Standard_D2s_v5", "capacity": 6},
        "properties": {
            "orchestrationMode": mode,
            "platformFaultDomainCount": count,
            "virtualMachineProfile": {"osProfile": {"computerNamePrefix": "web", "adminUsername": "me"}},
        },
    }
    client.virtual_machine_scale_sets.begin_create_or_update(GROUP, name, body, polling=False)
    shown = client.virtual_machine_scale_sets.get(GROUP, name).properties.platform_fault_domain_count
    found = []
    for instance in client.virtual_machine_scale_set_vms.list(GROUP, name):
        if mode == "Uniform":
            view = client.virtual_machine_scale_set_vms.get_instance_view(GROUP, name, instance.instance_id)
        else:
            view = client.virtual_machines.instance_view(GROUP, instance.name)
        found.append(told(view, instance.name))
    return {"counts": [shown], "domains": found}


def main() -> None:
    options = {"base_url": MANAGER, "credential_scopes": [f"{MANAGER}/.default"]}
    client = ComputeManagementClient(ManagedIdentityCredential(), SUBSCRIPTION, **options)
    found = {f"{u} {f}": availability_set(client, u, f) for u in range(1, 21) for f in range(1, 4)}
    found |= {f"Uniform {count}": scale_set(client, "Uniform", count) for count in range(1, 6)}
    found |= {f"Flexible {count}": scale_set(client, "Flexible", count) for count in range(1, 4)}
    print(json.dumps(found))


main()
