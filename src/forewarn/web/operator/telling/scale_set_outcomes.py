"""What came of a request about a whole scale set: instances that came, that go, that have another model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from forewarn.core import facts as f
from forewarn.core.region import Region, ScaleSet
from forewarn.web.operator.desk import Look
from forewarn.web.operator.schema.scale_set_answers import ScaleSetOutcome
from forewarn.web.operator.telling import outcomes
from forewarn.web.operator.telling.outcomes import count, outcome_of
from forewarn.web.operator.telling.scale_set_views import instances_of, scale_set_fields

NOTHING = "Nothing had to be done."


def set_outcome(
    before: Look, after: Look, key: str, facts: Sequence[f.Fact], asked: Collection[str] = ()
) -> ScaleSetOutcome:
    """``key`` is of the set that was asked about; it may be new, and it may be gone. ``asked`` are instances that were
    to go, by name.
    """
    old, new = before.region.scale_sets.get(key), after.region.scale_sets.get(key)
    going = outcome_of(
        before,
        after,
        [fact for fact in facts if not isinstance(fact, f.InstanceUpgraded)],
        outcomes.DELETED,
        () if old is None else old.instances,
        joining=asked,
    )
    created = [fact.name for fact in facts if isinstance(fact, f.VmCreated)]
    told = [*_told_of_set(after.region, new, facts), *_told_of_capacity(old, new), *_told_of_created(created)]
    if going.events or going.at_once:
        told.append(going.message)
    told += _told_of_end(old, new)
    return ScaleSetOutcome(
        events=going.events,
        at_once=going.at_once,
        message=" ".join(told) or NOTHING,
        created=created,
        scale_set=None if new is None else scale_set_fields(after.region, new),
    )


def _told_of_set(region: Region, scale_set: ScaleSet | None, facts: Sequence[f.Fact]) -> Iterable[str]:
    if scale_set is None or scale_set.deleting:
        return
    kinds = {type(fact) for fact in facts}
    if f.ScaleSetCreated in kinds:
        yield f"Scale set '{scale_set.name}' created."
        return
    if f.ScaleSetChanged in kinds:
        yield f"Scale set '{scale_set.name}' changed."
    if f.ScaleSetModelChanged in kinds:
        yield _told_of_model(region, scale_set)


def _told_of_model(region: Region, scale_set: ScaleSet) -> str:
    vms = instances_of(region, scale_set)
    latest = sum(vm.traits.model == scale_set.model for vm in vms)
    told = f"The model has version {scale_set.model} now; instances that have it: {latest} of {len(vms)}."
    return told if latest == len(vms) else f"{told} Upgrade the others to give it to them."


def _told_of_capacity(old: ScaleSet | None, new: ScaleSet | None) -> Iterable[str]:
    if old is not None and new is not None and not new.deleting and old.capacity != new.capacity:
        yield f"The capacity is {new.capacity} now."


def _told_of_created(created: Sequence[str]) -> Iterable[str]:
    if created:
        shown = ", ".join(created[:5]) + (f", … {created[-1]}" if len(created) > 5 else "")
        yield f"{count(len(created), 'instance')} created: {shown}."


def _told_of_end(old: ScaleSet | None, new: ScaleSet | None) -> Iterable[str]:
    if old is not None and new is None:
        yield f"Scale set '{old.name}' is gone."
    elif new is not None and new.deleting:
        yield f"Scale set '{new.name}' goes with its last instance."
