"""Who this VM is, in the words of documents, and which events are about it.

``Resources`` holds the names of Azure resources: what ``/metadata/instance`` calls ``compute.name``, which for an
instance of a uniform scale set is ``SET_ID``. The host name is another name that only sometimes looks alike, so
nothing here ever asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from forewarn.terms import ScheduledEvent
from forewarn.wire.json_bytes import WireError, read_json

# Newest first. The list of the metadata service, not of Scheduled Events; an older one only tells less.
INSTANCE_VERSIONS = ("2021-12-13", "2021-02-01", "2019-06-01", "2017-12-01", "2017-04-02")

_SET_INSTANCE = re.compile(r".*/virtualMachineScaleSets/([^/]+)/virtualMachines/(\d+)/?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """What a VM is told about itself. A field that its host does not tell is empty; ``raw`` is all of the answer."""

    name: str  # as documents name it
    vm_id: str = ""
    scale_set_name: str = ""
    scale_set_id: str = ""  # of a flexible scale set only
    placement_group_id: str = ""
    resource_id: str = ""
    resource_group: str = ""
    subscription_id: str = ""
    location: str = ""
    zone: str = ""
    size: str = ""
    os_type: str = ""
    computer_name: str = ""  # the host name the VM was made with; never compare it with Resources
    update_domain: str = ""
    fault_domain: str = ""
    priority: str = ""  # Spot, or nothing
    eviction_policy: str = ""
    raw: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)


_KEYS = {
    "vm_id": "vmId",
    "scale_set_name": "vmScaleSetName",
    "scale_set_id": "virtualMachineScaleSet.id",
    "placement_group_id": "placementGroupId",
    "resource_id": "resourceId",
    "resource_group": "resourceGroupName",
    "subscription_id": "subscriptionId",
    "location": "location",
    "zone": "zone",
    "size": "vmSize",
    "os_type": "osType",
    "computer_name": "osProfile.computerName",
    "update_domain": "platformUpdateDomain",
    "fault_domain": "platformFaultDomain",
    "priority": "priority",
    "eviction_policy": "evictionPolicy",
}


def decode_instance(body: bytes) -> Instance:
    """The instance that an answer describes. ``WireError`` where it has no name: events are told by that."""
    root = read_json(body) if body.strip() else None
    compute = root.get("compute") if isinstance(root, dict) else None
    if not isinstance(root, dict) or not isinstance(compute, dict):
        raise WireError("This is no instance: it has no compute.")
    told = {name: _text(compute, key) for name, key in _KEYS.items()}
    name = _text(compute, "name") or _set_instance_name(told["resource_id"])
    if not name:
        raise WireError("The instance does not tell its name.")
    return Instance(name=name, raw=root, **told)


def _text(compute: Mapping[str, object], path: str) -> str:
    node: object = compute
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return node.encode("utf-8", "replace").decode() if isinstance(node, str) else ""


def _set_instance_name(resource_id: str) -> str:
    found = _SET_INSTANCE.fullmatch(resource_id)
    return f"{found[1]}_{found[2]}" if found else ""


def concerns(event: ScheduledEvent, name: str) -> bool:
    """Whether the event will hit the VM of this name."""
    return any(is_name(resource, name) for resource in event.resources)


def is_name(resource: str, name: str) -> bool:
    """Without case, as Azure compares names. The first api-version, and now and then a later one, puts an underscore
    before them; no VM's own name can begin with one."""
    wanted, found = name.strip().casefold(), resource.strip().casefold()
    return bool(wanted) and (found == wanted or found.removeprefix("_") == wanted)


def own_name(given: str, instance: Instance | None) -> str:
    """The name to look for in events: the one given, else what the metadata service says. The host name is not used."""
    chosen = given.strip() or (instance.name if instance is not None else "")
    if not chosen:
        raise ValueError("This VM's name is not known: the metadata service does not tell it, and none was given.")
    return chosen


def doubt_about(given: str, instance: Instance) -> str | None:
    """A warning where no event will name ``given``, as far as the metadata service tells; else None."""
    if not given.strip() or is_name(instance.name, given):
        return None
    if given.strip().casefold() in (instance.computer_name.casefold(), _computer_name(instance.name)):
        return f"{given!r} is this VM's host name; events will call it {instance.name!r}."
    return f"{given!r} is not the name under which the metadata service knows this VM, {instance.name!r}."


def _computer_name(name: str) -> str:
    """How Azure calls the machine of a uniform scale set's instance: six digits of base 36 (``web_18``: web00000i)."""
    set_name, _, number = name.rpartition("_")
    if not set_name or not number.isdecimal() or len(number) > 9:
        return ""
    rest, digits = int(number), ""
    while rest:
        rest, digit = divmod(rest, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{set_name.casefold()}{digits:0>6}"
