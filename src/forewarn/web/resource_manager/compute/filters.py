"""``$filter`` on lists: the few forms that the service documents. Anything else is refused, not left out silently."""

from __future__ import annotations

import re
from collections.abc import Callable

from forewarn.core.region import ScaleSet, Vm, fold
from forewarn.web import arm_ids
from forewarn.web.resource_manager.call import FILTER, Call
from forewarn.web.resource_manager.compute import finding
from forewarn.web.resource_manager.listing import not_understood

Predicate = Callable[[Vm], bool]

_IN_SCALE_SET = re.compile(r"'?virtualMachineScaleSet/id'?\s+eq\s+'([^']+)'", re.IGNORECASE)
_LATEST_MODEL = re.compile(r"properties/latestModelApplied\s+eq\s+(true|false)", re.IGNORECASE)
_POWER_STATE = re.compile(
    r"startswith\(instanceView/statuses/code,\s*'PowerState'\)\s+eq\s+(true|false)", re.IGNORECASE
)


def vms(call: Call) -> Predicate:
    """Of VMs: those of one flexible scale set."""
    text = call.query.get(FILTER, "").strip()
    if not text:
        return _anyone
    found = _IN_SCALE_SET.fullmatch(text)
    if found is None:
        raise not_understood(text)
    name = fold(finding.named_in(found[1], arm_ids.SCALE_SETS, FILTER)[1])
    return lambda vm: fold(vm.scale_set) == name


def instances(call: Call, scale_set: ScaleSet) -> Predicate:
    """Of instances: those with the latest model, those without, or those with a power state, which all have."""
    text = call.query.get(FILTER, "").strip()
    if not text:
        return _anyone
    if found := _LATEST_MODEL.fullmatch(text):
        latest = found[1].lower() == "true"
        return lambda vm: (vm.traits.model == scale_set.model) is latest
    if found := _POWER_STATE.fullmatch(text):
        return _anyone if found[1].lower() == "true" else _nobody
    raise not_understood(text)


def _anyone(vm: Vm) -> bool:
    return True


def _nobody(vm: Vm) -> bool:
    return False
