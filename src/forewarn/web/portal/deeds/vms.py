"""What users do to VMs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from forewarn.core.region import Region, Vm, fold
from forewarn.core.specs import DEFAULT_RESOURCE_GROUP
from forewarn.web.arm_ids import instance_name
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import fleet
from forewarn.web.operator.schema.requests import CreateVmsBody, NamesBody
from forewarn.web.portal.deeds.arm_templates import creating_vms
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed, body_of, outcome, some
from forewarn.web.portal.doors.twins import ApiCall, Cmdlet, Twin, az, cannot, forewarn, power_shell, together
from forewarn.web.portal.forms import Filled, FormField
from forewarn.web.portal.written import count

_VMS = (FormField("vm", "VMs", "names", "names", required=True),)
_MODULE = "az.compute"
_OF_VM = {"group": "ResourceGroupName", "name": "Name"}
_OF_INSTANCE = {"group": "ResourceGroupName", "set": "VMScaleSetName", "instance": "InstanceId"}


@dataclass(frozen=True)
class _Operation:
    """What a user may do to VMs: the route, and the same in the words of ``az`` and PowerShell."""

    key: str
    title: str
    hint: str
    route: Callable[[NamesBody, Asker], Awaitable[Any]]
    az_vm: tuple[str, ...]
    az_vmss: tuple[str, ...]
    cmdlet: str
    cmdlet_of_instance: str
    fixed: tuple[str, ...] = ()
    fixed_of_instance: tuple[str, ...] = ()
    final: str = ""


_OPERATIONS = (
    _Operation(
        "restart", "Restart", "A Reboot event for each VM; at once where nobody reads.", fleet.restart,
        ("restart",), ("restart",), "Restart-AzVM", "Restart-AzVmss",
    ),
    _Operation(
        "redeploy", "Redeploy", "A Redeploy event for each VM, which then moves to another host.", fleet.redeploy,
        ("redeploy",), (), "Set-AzVM", "Set-AzVmss", ("-Redeploy",), ("-Redeploy",),
    ),
    _Operation(
        "reimage", "Reimage", "A fresh OS disk; a Reboot event where an OS image notice is wanted.", fleet.reimage,
        ("reimage",), ("reimage",), "Invoke-AzVMReimage", "Set-AzVmss", (), ("-Reimage",),
        final="what was on the OS disk is gone",
    ),
    _Operation(
        "stop", "Stop", "Powered off at once; the host stays theirs.", fleet.stop,
        ("stop",), ("stop",), "Stop-AzVM", "Stop-AzVmss",
        ("-StayProvisioned", "-Force"), ("-StayProvisioned", "-Force"),
    ),
    _Operation(
        "deallocate", "Deallocate", "Stopped at once, and the host given back.", fleet.deallocate,
        ("deallocate",), ("deallocate",), "Stop-AzVM", "Stop-AzVmss", ("-Force",), ("-Force",),
    ),
    _Operation(
        "start", "Start", "Those that are stopped or deallocated, at once.", fleet.start,
        ("start",), ("start",), "Start-AzVM", "Start-AzVmss",
    ),
    _Operation(
        "evict", "Evict", "A Preempt event for each Spot VM; at once where nobody reads.", fleet.evict,
        ("simulate-eviction",), ("simulate-eviction",), "Set-AzVM", "Set-AzVmssVM",
        ("-SimulateEviction",), ("-SimulateEviction",),
    ),
    _Operation(
        "delete", "Delete", "A Terminate event where a terminate notice is wanted; at once for the others.",
        fleet.delete, ("delete", "--yes"), ("delete-instances",), "Remove-AzVM", "Remove-AzVmss",
        ("-Force",), ("-Force",), final="a deleted VM does not come back",
    ),
)  # fmt: skip


def _names(filled: Filled) -> tuple[str, ...]:
    return filled.all("vm")


def _found(filled: Filled, region: Region) -> Iterator[Vm]:
    """Those that there are; what a refusal says about the others stands on the page already."""
    return (region.vms[fold(name)] for name in _names(filled) if fold(name) in region.vms)


def _instance(region: Region, vm: Vm) -> tuple[str, str]:
    """The scale set and the id there; empty for a VM that is in none."""
    found = region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None
    return (found.name, instance_name(found, vm)) if found is not None else ("", "")


def _az(operation: _Operation, filled: Filled, region: Region) -> Twin:
    lines = []
    for vm in _found(filled, region):
        group, (scale_set, instance) = vm.spec.resource_group, _instance(region, vm)
        if not scale_set:
            lines.append(["vm", *operation.az_vm, "-g", group, "-n", vm.name])
        elif operation.key == "evict":
            lines.append(["vmss", *operation.az_vmss, "-g", group, "-n", scale_set, "--instance-id", instance])
        elif operation.az_vmss:
            lines.append(["vmss", *operation.az_vmss, "-g", group, "-n", scale_set, "--instance-ids", instance])
    if not lines:
        return cannot("az", f"az has no command that would {operation.key} instances of a scale set.")
    return az(*lines)


def _power_shell(operation: _Operation, filled: Filled, region: Region) -> Twin:
    lone, instances = [], []
    for vm in _found(filled, region):
        group, (scale_set, instance) = vm.spec.resource_group, _instance(region, vm)
        if scale_set:
            instances.append({"group": group, "set": scale_set, "instance": instance})
        else:
            lone.append({"group": group, "name": vm.name})
    of_vms = (operation.cmdlet, operation.fixed, _OF_VM)
    of_instances = (operation.cmdlet_of_instance, operation.fixed_of_instance, _OF_INSTANCE)
    return together(
        "PowerShell",
        [
            power_shell(Cmdlet(name, f"{_MODULE}/{name.lower()}", fixed, parameters), *calls)
            for (name, fixed, parameters), calls in ((of_vms, lone), (of_instances, instances))
            if calls
        ],
    )


def _deed(operation: _Operation) -> PortalDeed:
    async def do(filled: Filled, asker: Asker, desk: Desk) -> Any:
        return await operation.route(filled.body(NamesBody), asker)

    def twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
        return (
            forewarn(["vm", operation.key, *_names(filled)]),
            _az(operation, filled, region),
            _power_shell(operation, filled, region),
            cannot("ARM template", "A template describes what there is; it cannot ask for this."),
        )

    return PortalDeed(
        key=operation.key,
        title=operation.title,
        question=lambda filled: f"{operation.title} {some(_names(filled), 'VM')}?",
        fields=_VMS,
        do=do,
        tell=outcome,
        call=lambda filled: ApiCall("POST", f"/v1/vms/{operation.key}", body_of(filled, NamesBody)),
        twins=twins,
        final=operation.final,
        danger=bool(operation.final),
        hint=operation.hint,
    )


async def _read(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await fleet.read(filled.typed("vm"), asker, desk)


def _told_of_read(answer: Any) -> Outlook:
    if answer.enabled:
        return Outlook(
            f"{answer.vm} will read its document once. That enables {answer.scope}: from then on its events wait."
        )
    return Outlook(
        f"{answer.vm} will read its document once. {answer.scope} is enabled already: this is a sign of life."
    )


_READ = PortalDeed(
    key="read",
    title="Read once",
    question=lambda filled: f"Read once as {filled.typed('vm')}?",
    fields=(FormField("vm", "VM", "hidden", required=True),),
    do=_read,
    tell=_told_of_read,
    call=lambda filled: ApiCall("POST", f"/v1/vms/{filled.typed('vm')}/read"),
    twins=lambda filled, region: (
        forewarn(["vm", "read", filled.typed("vm")]),
        cannot("az", "A read is a VM's own: az has none."),
    ),
    hint="One read by this VM, on purpose: it enables its scope.",
)

_NEW = (
    FormField("name", "Name", required=True, hint="Of one VM, or what several begin with: web-0, web-1, …"),
    FormField("count", "How many", "whole", default="1", longest=5),
    FormField("availability_set", "Availability set", hint="Empty for VMs that stand alone."),
    FormField("cloud_service", "Cloud service", hint="Instead of an availability set; goes with a role."),
    FormField("role", "Role"),
    FormField("spot", "Spot VMs, which may be evicted", "switch"),
    FormField("eviction_policy", "When evicted", "choice", choices=("Deallocate", "Delete"), default="Deallocate"),
    FormField(
        "terminate_notice", "Terminate notice (minutes)", "minutes", "terminate_notice_seconds",
        hint="5 to 15; empty for deletions without a warning.", longest=6,
    ),
    FormField(
        "os_image_notice", "OS image notice (minutes)", "minutes", "os_image_notice_seconds",
        hint="15; empty for reimages without a warning.", longest=6,
    ),
    FormField("size", "Size", hint="Told by /metadata/instance."),
    FormField("os_type", "System", "choice", choices=("", "Linux", "Windows")),
    FormField("tags", "Tags", "tags", hint="One on a line, like team=web."),
    FormField("address", "Source address", hint="By which the metadata face knows a single VM."),
    FormField("netns", "Network namespace", hint="In which a single VM lives."),
    FormField("read", "Each reads its document at once, so that its events wait", "switch"),
)  # fmt: skip


async def _create(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await fleet.create(filled.body(CreateVmsBody), asker)


def _told_of_new(answer: Any) -> Outlook:
    return Outlook(f"{count(len(answer.created), 'VM')} will be created.", made=tuple(answer.created))


def _create_line(filled: Filled) -> list[str]:
    words = ["vm", "create", filled.typed("name")]
    for name in ("count", "availability_set", "cloud_service", "role", "size", "os_type", "netns"):
        if (value := filled.typed(name).strip()) and (name, value) != ("count", "1"):
            words += [f"--{name.replace('_', '-')}", value]
    words += ["--spot"] if filled.values.get("spot") else []
    if filled.typed("eviction_policy") == "Delete":
        words += ["--eviction-policy", "Delete"]
    if notice := filled.typed("terminate_notice").strip():
        words += ["--terminate-notice", f"{notice}m"]
    words += ["--address", filled.typed("address").strip()] if filled.typed("address").strip() else []
    words += [word for name, value in filled.values.get("tags", {}).items() for word in ("--tag", f"{name}={value}")]
    return [*words, "--read"] if filled.values.get("read") else words


def _twins_of_new(filled: Filled, region: Region) -> tuple[Twin, ...]:
    body = filled.body(CreateVmsBody)
    names = body.names()
    more = ["--availability-set", filled.typed("availability_set")] if filled.typed("availability_set") else []
    more += ["--priority", "Spot"] if filled.values.get("spot") else []
    base = ["vm", "create", "-g", DEFAULT_RESOURCE_GROUP, "--image", "Ubuntu2204", *more]
    lines = [[*base, "-n", name] for name in names]
    return (
        forewarn(_create_line(filled)),
        az(*lines[:11], note="Names and sets as above; what else was chosen has its own options."),
        cannot("PowerShell", "New-AzVM makes a network and more along with a VM; see docs/resource-manager.md."),
        creating_vms(body, region),
    )


_CREATE = PortalDeed(
    key="create-vms",
    title="Create",
    question=lambda filled: f"Create {some(filled.body(CreateVmsBody).names(), 'VM')}?",
    fields=_NEW,
    do=_create,
    tell=_told_of_new,
    call=lambda filled: ApiCall("POST", "/v1/vms", body_of(filled, CreateVmsBody)),
    twins=_twins_of_new,
    hint="New VMs, alone or in a set.",
)

DEEDS = (*map(_deed, _OPERATIONS), _READ, _CREATE)
