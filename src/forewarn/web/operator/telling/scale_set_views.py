"""Scale sets as answers, and finding them and their instances."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region, ScaleSet, Vm, fold, scope_key
from forewarn.core.specs import Orchestration, ScopeKind
from forewarn.web.operator.desk import Look
from forewarn.web.operator.schema.scale_set_answers import ScaleSetAnswer, ScaleSetStory
from forewarn.web.operator.telling.views import binding_fields, event_fields, policy_fields, seconds, vm_fields


def instances_of(region: Region, scale_set: ScaleSet) -> list[Vm]:
    """The instances of a scale set, in the order of their making."""
    return sorted((region.vms[key] for key in scale_set.instances), key=lambda vm: vm.number)


def find_instances(region: Region, scale_set: ScaleSet, wanted: Iterable[str]) -> list[Vm]:
    """Instances by name, or by number where they are numbered."""
    numbered = scale_set.orchestration is Orchestration.UNIFORM
    found = []
    for text in wanted:
        key = fold(f"{scale_set.name}_{text}" if numbered and text.isdecimal() else text)
        if key not in scale_set.instances:
            raise Refused(Hint.NOT_FOUND, f"Scale set '{scale_set.name}' has no instance '{text}'.")
        found.append(region.vms[key])
    return found


def scopes_of(region: Region, scale_set: ScaleSet) -> list[str]:
    """Its placement groups, which are numbered without gaps."""
    keys: list[str] = []
    while (key := scope_key(ScopeKind.PLACEMENT_GROUP, scale_set.scope_name(len(keys)))) in region.scopes:
        keys.append(key)
    return keys


def scale_set_fields(region: Region, scale_set: ScaleSet) -> ScaleSetAnswer:
    model, spec = scale_set.vm_spec, scale_set.spec
    return ScaleSetAnswer(
        name=scale_set.name,
        resource_group=scale_set.resource_group,
        orchestration=scale_set.orchestration.value,
        single_placement_group=scale_set.single_placement_group,
        capacity=scale_set.capacity,
        instances_total=len(scale_set.instances),
        latest_model_total=sum(region.vms[key].traits.model == scale_set.model for key in scale_set.instances),
        model=scale_set.model,
        upgrade=spec.upgrade.value,
        scale_in=spec.scale_in.value,
        policy=policy_fields(spec.policy),
        binding=binding_fields(spec.binding),
        terminate_notice_seconds=seconds(model.terminate_notice),
        os_image_notice_seconds=seconds(model.os_image_notice),
        spot=model.spot,
        eviction_policy=model.eviction_policy.value,
        vnet=model.vnet,
        size=model.size,
        os_type=model.os_type,
        tags=dict(model.tags),
        scopes=scopes_of(region, scale_set),
        deleting=scale_set.deleting,
        created_at=scale_set.created_at,
        changed_at=scale_set.changed_at,
    )


def scale_set_story(look: Look, scale_set: ScaleSet) -> ScaleSetStory:
    region = look.region
    ids = (event_id for key in scopes_of(region, scale_set) for event_id in region.scopes[key].events)
    return ScaleSetStory(
        **dict(scale_set_fields(region, scale_set)),
        instances=[vm_fields(region, vm) for vm in instances_of(region, scale_set)],
        events=[event_fields(look, region.events[event_id]) for event_id in ids],
    )
