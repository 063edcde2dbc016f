"""Rolling upgrades: the instances of a scale set take over its latest model batch by batch.

A batch is at most so many percent of the instances, and one at least; each of them is upgraded as an update of single
instances does it. The next batch's turn comes when the pause between batches is over.
"""

from __future__ import annotations

from forewarn.core import facts as f
from forewarn.core.draft import Draft
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region, ScaleSet, Vm, replace


def start(draft: Draft, scale_set: ScaleSet) -> None:
    """Begin a rolling upgrade to the latest model. It replaces one to an older model that was under way."""
    draft.record(f.RollingUpgradeStarted(draft.now, scale_set.key))


def start_asked(draft: Draft, scale_set: ScaleSet) -> None:
    if is_running(scale_set):
        raise Refused(Hint.CONFLICT, f"A rolling upgrade of scale set '{scale_set.name}' is in progress already.")
    start(draft, scale_set)


def cancel(draft: Draft, scale_set: ScaleSet) -> None:
    """End a rolling upgrade early: every instance keeps the model that it has now."""
    if not is_running(scale_set):
        raise Refused(Hint.CONFLICT, f"There is no rolling upgrade of scale set '{scale_set.name}' to cancel.")
    draft.record(f.RollingUpgradeEnded(draft.now, scale_set.key, canceled=True))


def is_running(scale_set: ScaleSet) -> bool:
    return scale_set.rolling is not None and scale_set.rolling.next_at is not None


def proceed(draft: Draft, key: str) -> None:
    """The next batch, if its turn has come."""
    scale_set = draft.region.scale_sets.get(key)
    due = None if scale_set is None or scale_set.rolling is None else scale_set.rolling.next_at
    if scale_set is None or due is None or due > draft.now:
        return
    behind = behind_of(draft.region, scale_set)
    batch = behind[: batch_size(scale_set)]
    for vm in batch:
        upgrade_one(draft, scale_set, vm)
    if len(batch) == len(behind):
        draft.record(f.RollingUpgradeEnded(draft.now, key, len(batch)))
    else:
        draft.record(f.RollingUpgradeBatched(draft.now, key, len(batch), draft.now + scale_set.spec.batch_pause))


def batch_size(scale_set: ScaleSet) -> int:
    return max(1, len(scale_set.instances) * scale_set.spec.batch_percent // 100)


def behind_of(region: Region, scale_set: ScaleSet) -> list[Vm]:
    """The instances that have an older model, in the order of their making."""
    vms = (region.vms[key] for key in scale_set.instances)
    return sorted((vm for vm in vms if vm.traits.model != scale_set.model), key=lambda vm: vm.number)


def upgrade_one(draft: Draft, scale_set: ScaleSet, vm: Vm) -> None:
    """An instance takes over the latest model."""
    if vm.traits.model != scale_set.model:
        spec = replace(scale_set.vm_spec, set_name=vm.spec.set_name)
        draft.record(f.InstanceUpgraded(draft.now, vm.key, scale_set.model, spec))
