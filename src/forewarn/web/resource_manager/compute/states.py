"""How the service names what a VM is doing: provisioning states, power states, and the views made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from forewarn.core.causes import Cause
from forewarn.core.region import Power, Region, ScaleSet, Vm
from forewarn.core.specs import EvictionPolicy
from forewarn.web.documents.whereabouts import computer_name_of, placement_group_id
from forewarn.web.resource_manager.compute import finding
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.lro import iso

_UPDATES = frozenset({Cause.USER_RESTART, Cause.USER_REDEPLOY, Cause.REIMAGE})
_POWER_CODES = {
    Power.RUNNING: "running",
    Power.FROZEN: "running",
    Power.RESTARTING: "starting",
    Power.REDEPLOYING: "starting",
    Power.REIMAGING: "starting",
    Power.STOPPED: "stopped",
    Power.DEALLOCATED: "deallocated",
    Power.DELETING: "stopping",
}
_SHOWN = {"Succeeded": "Provisioning succeeded"}


def provisioning_state(region: Region, vm: Vm) -> str:
    """Deleting and Updating last as long as the operation does: from its asking, not from its impact."""
    if region.leaving(vm):
        return "Deleting"
    causes = {region.events[event_id].cause for event_id in vm.events}
    return "Updating" if causes & _UPDATES else "Succeeded"


def scale_set_state(scale_set: ScaleSet) -> str:
    if scale_set.deleting:
        return "Deleting"
    return "Updating" if scale_set.leaving else "Succeeded"


def power_code(vm: Vm) -> str:
    if vm.power is Power.EVICTING:
        return "deallocating" if vm.spec.eviction_policy is EvictionPolicy.DEALLOCATE else "stopping"
    return _POWER_CODES[vm.power]


def vm_view(region: Region, vm: Vm) -> Object:
    """The instance view of a VM, or of an instance of a scale set."""
    scale_set = finding.set_of(region, vm)
    running = power_code(vm) == "running"
    view: Object = {
        "platformUpdateDomain": vm.update_domain,
        "platformFaultDomain": vm.fault_domain,
        "computerName": computer_name_of(region, vm),
        "hyperVGeneration": "V2",
        "vmAgent": {
            "vmAgentVersion": "Unknown",
            "statuses": [_status("ProvisioningState/succeeded", "Ready", vm.created_at)] if running else [],
        },
        "disks": [
            {
                "name": f"{vm.name}_OsDisk_1",
                "statuses": [_status("ProvisioningState/succeeded", "Provisioning succeeded", vm.created_at)],
            }
        ],
        "statuses": _statuses(region, vm),
    }
    if scale_set is not None:
        view["placementGroupId"] = placement_group_id(scale_set, vm)
    return view


def _statuses(region: Region, vm: Vm) -> list[Object]:
    code = power_code(vm)
    return [
        _provisioning(provisioning_state(region, vm), vm.created_at),
        {"code": f"PowerState/{code}", "level": "Info", "displayStatus": f"VM {code}"},
    ]


def scale_set_view(region: Region, scale_set: ScaleSet, vms: Iterable[Vm]) -> Object:
    """How many instances are in which state."""
    counts = Counter(provisioning_state(region, vm) for vm in vms)
    summary = [{"code": _code(state), "count": count} for state, count in sorted(counts.items())]
    state = scale_set_state(scale_set)
    return {
        "virtualMachine": {"statusesSummary": summary},
        "statuses": [_provisioning(state, scale_set.changed_at or scale_set.created_at)],
    }


def _provisioning(state: str, at: datetime) -> Object:
    return _status(_code(state), _SHOWN.get(state, state), at)


def _code(state: str) -> str:
    return f"ProvisioningState/{state.lower()}"


def _status(code: str, shown: str, at: datetime) -> Object:
    return {"code": code, "level": "Info", "displayStatus": shown, "time": iso(at)}
