"""What is done to scale sets and their instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forewarn.core.region import Region, ScaleSet, fold
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import scale_sets
from forewarn.web.operator.schema.scale_set_requests import (
    ChosenInstancesBody,
    CreateScaleSetBody,
    InstancesBody,
    ProtectBody,
    ScaleBody,
    ScaleSetChangeBody,
)
from forewarn.web.operator.telling.scale_set_views import scale_set_fields
from forewarn.web.portal.ahead import ahead
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed, outcome, some
from forewarn.web.portal.deeds.scale_set_form import FORM, MANAGEMENT, values_of
from forewarn.web.portal.deeds.scale_set_twins import changing, creating
from forewarn.web.portal.doors.twins import NOT_RUN, ApiCall, Twin, az, cannot, forewarn
from forewarn.web.portal.forms import Filled, FormField, checked

CREATE = "create-scale-set"
CONFIGURE = "configure-scale-set"
_SET = FormField("scale_set", "Scale set", "hidden", required=True)
_INSTANCES = FormField("vm", "Instances", "names", "instances")
_NO_TEMPLATE = cannot("ARM template", "A template describes what there is; it cannot ask for this.")


def told(answer: Any) -> Outlook:
    """Of a ``ScaleSetOutcome``."""
    message = ahead(answer.message, answer.events)
    return Outlook(message, tuple(answer.events), tuple(answer.at_once), tuple(answer.created))


def _found(filled: Filled, region: Region) -> ScaleSet | None:
    return region.scale_sets.get(fold(filled.typed("scale_set")))


def _named(filled: Filled, region: Region) -> tuple[str, str]:
    """The set's resource group and name, for doors that want both."""
    found = _found(filled, region)
    return ("forewarn", filled.typed("scale_set")) if found is None else (found.resource_group, found.name)


def _ids(filled: Filled, region: Region) -> list[str]:
    """As az names instances: by their numbers where they are numbered."""
    names = filled.all("vm")
    vms = [region.vms[fold(name)] for name in names if fold(name) in region.vms]
    return [str(vm.number) if vm.name.endswith(f"_{vm.number}") else vm.name for vm in vms]


def _path(filled: Filled, verb: str = "") -> str:
    return f"/v1/scale-sets/{filled.typed('scale_set')}{verb}"


async def _create(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await scale_sets.create(checked(CreateScaleSetBody, values_of(filled)), asker)


async def _configure(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await scale_sets.change(filled.typed("scale_set"), checked(ScaleSetChangeBody, values_of(filled)), asker)


async def _scale(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await scale_sets.scale(filled.typed("scale_set"), filled.body(ScaleBody, "scale_set"), asker)


async def _upgrade(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await scale_sets.upgrade(filled.typed("scale_set"), filled.body(InstancesBody, "scale_set"), asker)


async def _delete_instances(filled: Filled, asker: Asker, desk: Desk) -> Any:
    body = filled.body(ChosenInstancesBody, "scale_set")
    return await scale_sets.delete_instances(filled.typed("scale_set"), body, asker)


async def _delete(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await scale_sets.delete(filled.typed("scale_set"), asker)


def _protection(protected: bool) -> PortalDeed:
    verb = "Protect" if protected else "Unprotect"

    async def do(filled: Filled, asker: Asker, desk: Desk) -> Any:
        body = checked(ProtectBody, {"instance": filled.typed("vm"), "protected": protected})
        return await scale_sets.protect(filled.typed("scale_set"), body, asker)

    def twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
        group, name = _named(filled, region)
        off = () if protected else ("--off",)
        ids = [word for each in _ids(filled, region) for word in ("--instance-id", each)]
        az_words = ["vmss", "update", "-g", group, "-n", name, *ids, "--protect-from-scale-in", str(protected).lower()]
        return (forewarn(["vmss", "protect", name, filled.typed("vm"), *off]), az(az_words), _NO_TEMPLATE)

    return PortalDeed(
        key=f"{verb.lower()}-instance",
        title=verb,
        question=lambda filled: f"{verb} {filled.typed('vm')} {'from' if protected else 'no longer from'} scale-in?",
        fields=(_SET, FormField("vm", "Instance", "hidden", required=True)),
        do=do,
        tell=outcome,
        call=lambda filled: ApiCall(
            "POST", _path(filled, "/protect"), {"instance": filled.typed("vm"), "protected": protected}
        ),
        twins=twins,
        hint="Whether scale-in may choose an instance.",
    )


def _configure_twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
    found = _found(filled, region)
    if found is None:
        return ()
    return changing(*_named(filled, region), values_of(filled), scale_set_fields(region, found).model_dump())


def _scale_twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
    group, name = _named(filled, region)
    capacity = str(filled.values["capacity"])
    line = f"Update-AzVmss -ResourceGroupName '{group}' -VMScaleSetName '{name}' -SkuCapacity {capacity}"
    return (
        forewarn(["vmss", "scale", name, capacity]),
        az(["vmss", "scale", "-g", group, "-n", name, "--new-capacity", capacity]),
        Twin("PowerShell", (line,), f"{NOT_RUN} Source: az.compute/update-azvmss."),
    )


def _array(ids: Sequence[str]) -> str:
    """As PowerShell writes several texts: with quotes around all of them, it would be one."""
    return ",".join(f"'{each}'" for each in ids)


def _upgrade_twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
    group, name = _named(filled, region)
    ids = _ids(filled, region)
    of_set = f"-ResourceGroupName '{group}' -VMScaleSetName '{name}'"
    shown = _array(ids) or f"(Get-AzVmssVM {of_set}).InstanceId"
    line = f"Update-AzVmssInstance {of_set} -InstanceId {shown}"
    return (
        forewarn(["vmss", "update-instances", name, *filled.all("vm")]),
        az(["vmss", "update-instances", "-g", group, "-n", name, "--instance-ids", *(ids or ["*"])]),
        Twin("PowerShell", (line,), f"{NOT_RUN} Source: az.compute/update-azvmssinstance."),
        _NO_TEMPLATE,
    )


def _delete_twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
    group, name = _named(filled, region)
    ids = _ids(filled, region)
    line = f"Remove-AzVmss -ResourceGroupName '{group}' -VMScaleSetName '{name}' -InstanceId {_array(ids)} -Force"
    return (
        forewarn(["vmss", "delete-instances", name, *filled.all("vm")]),
        az(["vmss", "delete-instances", "-g", group, "-n", name, "--instance-ids", *ids]),
        Twin("PowerShell", (line,), f"{NOT_RUN} Source: az.compute/remove-azvmss."),
        _NO_TEMPLATE,
    )


def _end_twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
    group, name = _named(filled, region)
    line = f"Remove-AzVmss -ResourceGroupName '{group}' -VMScaleSetName '{name}' -Force"
    return (
        forewarn(["vmss", "delete", name]),
        az(["vmss", "delete", "-g", group, "-n", name]),
        Twin("PowerShell", (line,), f"{NOT_RUN} Source: az.compute/remove-azvmss."),
        _NO_TEMPLATE,
    )


DEEDS = (
    PortalDeed(
        key=CREATE,
        title="Create",
        question=lambda filled: f"Create scale set {filled.typed('name')}?",
        fields=FORM,
        do=_create,
        tell=told,
        call=lambda filled: ApiCall("POST", "/v1/scale-sets", values_of(filled)),
        twins=lambda filled, region: creating(values_of(filled)),
        hint="A model, and as many instances of it as are wanted.",
    ),
    PortalDeed(
        key=CONFIGURE,
        title="Save",
        question=lambda filled: f"Change scale set {filled.typed('scale_set')}?",
        fields=(_SET, *MANAGEMENT),
        do=_configure,
        tell=told,
        call=lambda filled: ApiCall("PUT", _path(filled), values_of(filled)),
        twins=_configure_twins,
        hint="Notices, upgrade and scale-in policy of an existing set.",
    ),
    PortalDeed(
        key="scale",
        title="Scale",
        question=lambda filled: f"Scale {filled.typed('scale_set')} to {filled.typed('capacity')} instances?",
        fields=(_SET, FormField("capacity", "Instance count", "whole", required=True, longest=5)),
        do=_scale,
        tell=told,
        call=lambda filled: ApiCall("POST", _path(filled, "/scale"), {"capacity": filled.values["capacity"]}),
        twins=_scale_twins,
        hint="More instances of the latest model, or fewer by the scale-in policy.",
    ),
    PortalDeed(
        key="upgrade-instances",
        title="Upgrade",
        question=lambda filled: (
            f"Upgrade {some(filled.all('vm'), 'instance') if filled.all('vm') else 'all instances'} "
            f"of {filled.typed('scale_set')}?"
        ),
        fields=(_SET, _INSTANCES),
        do=_upgrade,
        tell=outcome,
        call=lambda filled: ApiCall("POST", _path(filled, "/upgrade"), {"instances": list(filled.all("vm"))}),
        twins=_upgrade_twins,
        hint="Instances take over the latest model.",
    ),
    PortalDeed(
        key="delete-instances",
        title="Delete",
        question=lambda filled: f"Delete {some(filled.all('vm'), 'instance')} of {filled.typed('scale_set')}?",
        fields=(_SET, FormField("vm", "Instances", "names", "instances", required=True)),
        do=_delete_instances,
        tell=told,
        call=lambda filled: ApiCall("POST", _path(filled, "/delete-instances"), {"instances": list(filled.all("vm"))}),
        twins=_delete_twins,
        final="a deleted instance does not come back",
        danger=True,
        hint="With a Terminate event where an instance has a notice and somebody reads.",
    ),
    PortalDeed(
        key="delete-scale-set",
        title="Delete scale set",
        question=lambda filled: f"Delete scale set {filled.typed('scale_set')} and all its instances?",
        fields=(_SET,),
        do=_delete,
        tell=told,
        call=lambda filled: ApiCall("DELETE", _path(filled)),
        twins=_end_twins,
        final="the set goes with its last instance, and neither comes back",
        danger=True,
        hint="Every instance goes, with its Terminate event; the set goes last.",
    ),
    _protection(True),
    _protection(False),
)
