"""What there is to make, as an ARM template: whole, as ``az deployment group create --template-file`` takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from forewarn.core.region import Region, scope_key
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.web.operator.schema.requests import CreateVmsBody
from forewarn.web.portal.deeds.scale_set_form import OS_IMAGE_SECONDS
from forewarn.web.portal.doors.twins import Twin, cannot

DOOR = "ARM template"
API_VERSION = "2025-04-01"  # the first that knows allInstancesDown
_SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
_SETS, _VMS = "Microsoft.Compute/availabilitySets", "Microsoft.Compute/virtualMachines"
_MOST_RESOURCES = 800  # Azure's, with a set among them (docs/resource-manager.md, templates)
_NEEDS_MORE = "Azure itself wants an image, a user and a network too; the region runs nothing."


def template(*resources: Mapping[str, Any], note: str = "") -> Twin:
    whole = {"$schema": _SCHEMA, "contentVersion": "1.0.0.0", "resources": resources}
    return Twin(DOOR, tuple(json.dumps(whole, indent=2).splitlines()), note)


def resource(kind: str, name: str, tags: Mapping[str, str] | None, **members: Any) -> dict[str, Any]:
    """What every resource has, and its own members. A tag in brackets would be an expression: the first is doubled."""
    told = {tag: f"[{value}" if value[:1] + value[-1:] == "[]" else value for tag, value in (tags or {}).items()}
    found = {"type": kind, "apiVersion": API_VERSION, "name": name, "location": "[resourceGroup().location]", **members}
    return found | ({"tags": told} if told else {})


def events_profile(terminate_seconds: float | None, os_image_seconds: float | None) -> dict[str, Any]:
    """``scheduledEventsProfile``, of VMs and of scale sets."""
    terminate: dict[str, Any] = {"enable": False}
    if terminate_seconds:
        terminate = {"enable": True, "notBeforeTimeout": f"PT{terminate_seconds / 60:g}M"}
    return {
        "terminateNotificationProfile": terminate,
        "osImageNotificationProfile": {
            "enable": os_image_seconds == OS_IMAGE_SECONDS,
            "notBeforeTimeout": "PT15M",
        },
    }


def creating_vms(body: CreateVmsBody, region: Region) -> Twin:
    """New VMs; with their availability set, where there is none of that name yet."""
    if body.cloud_service:
        return cannot(DOOR, "An instance of a cloud service is no VM of the Resource Manager.")
    if body.count >= _MOST_RESOURCES:
        return cannot(DOOR, f"A template makes {_MOST_RESOURCES} resources at most: take several.")
    notes, resources = [_NEEDS_MORE], [_vms(body)]
    if body.binding_or_none():
        notes.append("How the metadata face knows the VM is no part of it: see 'forewarn vm bind'.")
    if body.read:
        notes.append("Nor is a first read.")
    if name := body.availability_set:
        if scope_key(ScopeKind.AVAILABILITY_SET, name) in region.scopes:
            notes.append(f"The availability set {name} is there already.")
        else:
            resources.insert(0, resource(_SETS, name, None, sku={"name": "Aligned"}, properties={}))
            resources[1]["dependsOn"] = [_set_id(name)]
    return template(*resources, note=" ".join(notes))


def _set_id(name: str) -> str:
    return f"[resourceId('{_SETS}', '{name}')]"


def _vms(body: CreateVmsBody) -> dict[str, Any]:
    usual = VmSpec()
    properties: dict[str, Any] = {
        "hardwareProfile": {"vmSize": body.size or usual.size},
        "storageProfile": {"osDisk": {"osType": body.os_type or usual.os_type, "createOption": "FromImage"}},
        "scheduledEventsProfile": events_profile(body.terminate_notice_seconds, body.os_image_notice_seconds),
    }
    if body.availability_set:
        properties["availabilitySet"] = {"id": _set_id(body.availability_set)}
    if body.spot:
        properties |= {"priority": "Spot", "evictionPolicy": body.eviction_policy}
    if body.count == 1:
        return resource(_VMS, body.name, body.tags, properties=properties)
    name = f"[concat('{body.name}-', copyIndex())]"
    return resource(_VMS, name, body.tags, copy={"name": "vms", "count": body.count}, properties=properties)
