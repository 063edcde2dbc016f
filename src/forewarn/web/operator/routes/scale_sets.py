"""Scale sets: making and changing them, their capacity, and what users do to their instances."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from forewarn.core import commands as c
from forewarn.core.deciding.scale_sets import put_as_it_is
from forewarn.core.looking.lookup import scale_set_named
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import DOWN, Power, Vm, fold, replace
from forewarn.web.operator.desk import Asker, TheAsker, TheLook
from forewarn.web.operator.listing.paging import page_of
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import OutcomeAnswer
from forewarn.web.operator.schema.requests import Page
from forewarn.web.operator.schema.scale_set_answers import (
    InstancesAnswer,
    ScaleSetOutcome,
    ScaleSetsAnswer,
    ScaleSetStory,
)
from forewarn.web.operator.schema.scale_set_requests import (
    ChosenInstancesBody,
    CreateScaleSetBody,
    InstancesBody,
    ProtectBody,
    ScaleBody,
    ScaleSetChangeBody,
)
from forewarn.web.operator.telling import outcomes
from forewarn.web.operator.telling.outcomes import Deed, outcome_of
from forewarn.web.operator.telling.scale_set_outcomes import NOTHING, set_outcome
from forewarn.web.operator.telling.scale_set_views import (
    find_instances,
    instances_of,
    scale_set_fields,
    scale_set_story,
)
from forewarn.web.operator.telling.views import vm_fields

router = routes_below("/v1/scale-sets", "scale sets")


# The set


@router.post("", status_code=201, summary="Create a scale set")
async def create(body: CreateScaleSetBody, asker: TheAsker) -> ScaleSetOutcome:
    """A model, and as many instances of it as are wanted. A name that is taken is refused."""
    async with asker.editing():
        if fold(body.name) in asker.look().region.scale_sets:
            raise Refused(Hint.CONFLICT, f"A scale set named '{body.name}' exists already.")
        command = body.command(asker.new_guid())
        if body.blueprint:
            engine = asker.plane.hands.made_from(body.blueprint)
            made_of = replace(command.vm_spec, engine=engine, blueprint=body.blueprint)
            command = replace(command, vm_spec=made_of)
        return await _act_on_set(asker, body.name, command)


@router.put("/{name}", status_code=202, summary="Change a scale set")
async def change(name: str, body: ScaleSetChangeBody, asker: TheAsker) -> ScaleSetOutcome:
    """What is left out stays as it is. A changed model counts for an instance once that has been upgraded to it."""
    async with asker.editing():
        scale_set = scale_set_named(asker.look().region, name)
        if body.blueprint not in (None, scale_set.vm_spec.blueprint):
            raise Refused(Hint.CONFLICT, f"What scale set '{scale_set.name}' is made from cannot be changed.")
        return await _act_on_set(asker, name, body.change_of(scale_set, asker.new_guid()))


@router.post("/{name}/scale", status_code=202, summary="Scale a scale set")
async def scale(name: str, body: ScaleBody, asker: TheAsker) -> ScaleSetOutcome:
    """Out: new instances of the latest model. In: by the scale-in rule, with a Terminate event where there is one."""
    async with asker.editing():
        scale_set = scale_set_named(asker.look().region, name)
        command = replace(put_as_it_is(scale_set, asker.new_guid()), capacity=body.capacity)
        return await _act_on_set(asker, name, command)


@router.get("", summary="List scale sets")
def list_scale_sets(page: Annotated[Page, Query()], look: TheLook) -> ScaleSetsAnswer:
    """In pages, by name."""
    keys, following = page_of(look.region.scale_sets, str, page)
    found = [scale_set_fields(look.region, look.region.scale_sets[key]) for key in keys]
    return ScaleSetsAnswer(scale_sets=found, next=following)


@router.get("/{name}", summary="Show a scale set")
def show(name: str, look: TheLook) -> ScaleSetStory:
    """A scale set with its instances and their events. Names are compared without regard to case."""
    return scale_set_story(look, scale_set_named(look.region, name))


@router.get("/{name}/instances", summary="List the instances of a scale set")
def list_instances(name: str, page: Annotated[Page, Query()], look: TheLook) -> InstancesAnswer:
    """In pages, in the order of their making."""
    region, scale_set = look.region, scale_set_named(look.region, name)
    vms, following = page_of((region.vms[key] for key in scale_set.instances), _by_number, page)
    instances = [vm_fields(region, vm) for vm in vms]
    return InstancesAnswer(instances=instances, next=following, total=len(scale_set.instances))


def _by_number(vm: Vm) -> str:
    return f"{vm.number:09}"


@router.delete("/{name}", status_code=202, summary="Delete a scale set")
async def delete(name: str, asker: TheAsker) -> ScaleSetOutcome:
    """Every instance goes, with a Terminate event where it has a notice and somebody reads; the set goes last."""
    found = asker.look().region.scale_sets.get(fold(name))
    every = tuple(found.instances) if found is not None else ()
    return await _act_on_set(asker, name, c.DeleteScaleSet(name, asker.new_guid()), every)


async def _act_on_set(asker: Asker, name: str, command: c.Command, asked: tuple[str, ...] = ()) -> ScaleSetOutcome:
    before = asker.look()
    facts = await asker.submit(command)
    return await asker.tell(set_outcome, before, asker.look(), fold(name), facts, asked)


# Its instances


@router.post("/{name}/delete-instances", status_code=202, summary="Delete instances")
async def delete_instances(name: str, body: ChosenInstancesBody, asker: TheAsker) -> ScaleSetOutcome:
    """With a Terminate event where an instance has a notice and somebody reads. The set wants so many fewer."""
    region = asker.look().region
    scale_set = scale_set_named(region, name)
    chosen = _names(find_instances(region, scale_set, body.instances))
    return await _act_on_set(asker, name, c.DeleteInstances(scale_set.name, chosen, asker.new_guid()), chosen)


@router.post("/{name}/upgrade", status_code=202, summary="Upgrade instances")
async def upgrade(name: str, body: InstancesBody, asker: TheAsker) -> OutcomeAnswer:
    """Instances take over the latest model, at once; all of them where none is named."""
    region = asker.look().region
    scale_set = scale_set_named(region, name)
    chosen = _names(find_instances(region, scale_set, body.instances) or instances_of(region, scale_set))
    given = chosen if body.instances else ()
    return await _act(asker, chosen, c.UpgradeInstances(scale_set.name, given), outcomes.UPGRADED)


@router.post("/{name}/protect", status_code=202, summary="Protect an instance")
async def protect(name: str, body: ProtectBody, asker: TheAsker) -> OutcomeAnswer:
    """Scale-in leaves a protected instance alone. Deleting it by name, or with its set, is still possible."""
    region = asker.look().region
    (vm,) = find_instances(region, scale_set_named(region, name), (body.instance,))
    deed = outcomes.PROTECTED if body.protected else outcomes.EXPOSED
    return await _act(asker, (vm.name,), c.ProtectInstance(vm.name, body.protected), deed)


@dataclass(frozen=True)
class _Operation:
    """What users do to running or stopped instances, as to any VM."""

    verb: str
    told: str
    command: Callable[[Asker, tuple[str, ...]], c.Command]
    deed: Deed
    running: bool = False  # where no instance is named, those that run are meant


_OPERATIONS = (
    _Operation(
        "restart",
        "A Reboot event for each instance; at once where nobody in the scope reads scheduled events.",
        lambda asker, names: c.RestartVms(names, asker.new_guid()),
        outcomes.RESTARTED,
        running=True,
    ),
    _Operation(
        "redeploy",
        "A Redeploy event for each instance, which then moves to another host; at once where nobody reads.",
        lambda asker, names: c.RedeployVms(names, asker.new_guid()),
        outcomes.REDEPLOYED,
        running=True,
    ),
    _Operation(
        "reimage",
        "A fresh OS disk: a Reboot event for each instance with an OS image notice in a scope that reads.",
        lambda asker, names: c.ReimageVms(names, asker.new_guid()),
        outcomes.REIMAGED,
        running=True,
    ),
    _Operation(
        "deallocate",
        "Stop instances and give back their hosts, at once.",
        lambda _, names: c.DeallocateVms(names),
        outcomes.DEALLOCATED,
    ),
    _Operation(
        "stop",
        "Power instances off, at once; they keep their hosts.",
        lambda _, names: c.StopVms(names),
        outcomes.STOPPED,
    ),
    _Operation(
        "start",
        "Start instances that are stopped or deallocated, at once.",
        lambda _, names: c.StartVms(names),
        outcomes.STARTED,
    ),
)


def _handler(operation: _Operation) -> Callable[..., Awaitable[OutcomeAnswer]]:
    async def operate(name: str, body: InstancesBody, asker: TheAsker) -> OutcomeAnswer:
        region = asker.look().region
        scale_set = scale_set_named(region, name)
        vms = find_instances(region, scale_set, body.instances)
        if not body.instances:
            every = instances_of(region, scale_set)
            vms = [vm for vm in every if _is_running(vm)] if operation.running else every
        if not vms:
            return await asker.tell(OutcomeAnswer, events=[], at_once=[], message=NOTHING)
        return await _act(asker, _names(vms), operation.command(asker, _names(vms)), operation.deed)

    return operate


for _each in _OPERATIONS:
    router.add_api_route(
        f"/{{name}}/{_each.verb}",
        _handler(_each),
        methods=["POST"],
        status_code=202,
        response_model=OutcomeAnswer,
        summary=f"{_each.verb.capitalize()} instances",
        description=f"{_each.told} Where none is named, "
        f"every instance {'that runs ' if _each.running else ''}is meant.",
    )


def _is_running(vm: Vm) -> bool:
    return vm.power not in DOWN and vm.power not in (Power.EVICTING, Power.DELETING)


def _names(vms: Iterable[Vm]) -> tuple[str, ...]:
    return tuple(vm.name for vm in vms)


async def _act(asker: Asker, names: tuple[str, ...], command: c.Command, deed: Deed) -> OutcomeAnswer:
    before = asker.look()
    facts = await asker.submit(command)
    return await asker.tell(outcome_of, before, asker.look(), facts, deed, names)
