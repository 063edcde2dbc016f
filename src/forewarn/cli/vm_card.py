"""One VM as a card, and the words of it that a list of instances has too."""

from __future__ import annotations

from forewarn.cli.api.machine_shapes import Machine
from forewarn.cli.api.shapes import Vm, VmStory
from forewarn.cli.output import Output
from forewarn.settings.times import show_moment


def show_vm(out: Output, vm: VmStory) -> None:
    """Everything about a VM but its events."""
    resource = vm["resource_name"] if vm["resource_name"] != vm["name"] else None
    out.fields(
        [
            ("name", vm["name"]),
            ("resource name", resource),
            ("power", vm["power"]),
            ("scope", vm["scope"]),
            ("host", vm["host"]),
            ("update domain", vm["update_domain"]),
            ("fault domain", vm["fault_domain"]),
            ("spot", vm["eviction_policy"] if vm["spot"] else None),
            ("boots", vm["boots"]),
            ("ephemeral disks", vm["ephemeral_disks"]),
            ("terminate notice", show_seconds(vm["terminate_notice_seconds"])),
            ("os image notice", show_seconds(vm["os_image_notice_seconds"])),
            ("scale set", vm["scale_set"]),
            ("instance id", vm["instance_id"]),
            ("model", show_model(vm)),
            ("protected", "from scale-in" if vm["protected"] else None),
            ("resource group", vm["resource_group"]),
            ("size", vm["size"]),
            ("system", vm["os_type"]),
            ("tags", vm["tags"]),
            ("virtual network", vm["vnet"]),
            ("created", show_moment(vm["created_at"])),
            ("vm id", vm["vm_id"]),
            *((key.replace("_", " "), value) for key, value in vm["binding"].items()),
            ("shared address", vm["shared_address"]),
            *_machine(vm["machine"]),
        ]
    )


def _machine(machine: Machine | None) -> list[tuple[str, object]]:
    """What is known of the real machine, where the VM is one."""
    if machine is None:
        return []
    being_done = [f"{each['kind']} ({each['why'] or each['state']})" for each in machine["errands"]]
    return [
        ("machine", f"{machine['host']}/{machine['ref']} of engine {machine['engine']}"),
        ("machine power", machine["power"]),
        ("boot mark", machine["boot_mark"]),
        ("seen", show_moment(machine["seen_at"])),
        ("being done", being_done),
        ("runs also at", machine["also"]),
        ("cannot", ", ".join(machine["cannot"])),
        ("way", machine["way"]),
        ("alarm", machine["alarm"]),
    ]


def show_seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:g} s"


def show_model(vm: Vm) -> str:
    """The version of its scale set's model that an instance has."""
    if vm["model"] is None:
        return ""
    return str(vm["model"]) if vm["latest_model"] else f"{vm['model']} (not the latest)"
