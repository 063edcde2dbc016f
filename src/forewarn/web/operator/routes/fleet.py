"""VMs: making them, looking at them, and what users do to them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from forewarn.core import commands as c
from forewarn.core.facts import VmCreated
from forewarn.core.looking.lookup import vm_named
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import fold, replace
from forewarn.core.specs import EvictionPolicy, ScopeKind, VmSpec
from forewarn.web.documents.document import document_bytes
from forewarn.web.documents.interfaces import shared_address
from forewarn.web.operator.desk import Asker, TheAsker, TheDesk, TheListed, TheLook
from forewarn.web.operator.documents import find_version, instance_of, read_by, seen_by
from forewarn.web.operator.listing.choosing import vms_of
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import (
    CreatedAnswer,
    OutcomeAnswer,
    ReadAnswer,
    VmsAnswer,
    VmStory,
    WatchedReadAnswer,
    WatchedReadsAnswer,
)
from forewarn.web.operator.schema.listing import VmPage
from forewarn.web.operator.schema.looks import InstanceQuery, ReadQuery
from forewarn.web.operator.schema.requests import CreateVmsBody, NamesBody, duration
from forewarn.web.operator.telling import outcomes
from forewarn.web.operator.telling.outcomes import Deed, outcome_of
from forewarn.web.operator.telling.views import event_fields, vm_fields
from forewarn.web.watched import SECONDS_WATCHED
from forewarn.wire.errors import JSON
from forewarn.wire.versions import NEWEST

router = routes_below("/v1/vms", "vms")
_FEW = 16  # ours: names and facts of an answer that is made in less than a millisecond
DocumentVersion = Annotated[
    str, Query(alias="api-version", max_length=32, description="As a guest would ask for it.", examples=[NEWEST.date])
]

_SEEN: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {}}, "description": "As a guest gets it."}
}


@router.post("", status_code=201, summary="Create VMs")
async def create(body: CreateVmsBody, asker: TheAsker) -> CreatedAnswer:
    """One VM, or many that are numbered. All of them are created or, where one name is refused, none.

    Those of a blueprint are down until their machines run; one that cannot be made is gone again, and the activity says
    why.
    """
    engine = asker.plane.hands.made_from(body.blueprint) if body.blueprint else ""
    spec = replace(_spec(body), engine=engine, blueprint=body.blueprint or "")
    creating = c.CreateVms(body.names(), spec, asker.new_guid(), body.binding_or_none(), body.host or "")
    facts = await asker.submit(c.Together((creating, _reading(body, asker))) if body.read else creating)
    return await asker.tell(CreatedAnswer, created=[fact.name for fact in facts if isinstance(fact, VmCreated)])


def _reading(body: CreateVmsBody, asker: Asker) -> c.Pulse:
    """The first reads of the new VMs, in the same write as the VMs: there is no moment at which nobody reads."""
    now = asker.plane.now()
    return c.Pulse(tuple((fold(name), now) for name in body.names()))


def _spec(body: CreateVmsBody) -> VmSpec:
    kind = ScopeKind.VM
    if body.availability_set:
        kind = ScopeKind.AVAILABILITY_SET
    elif body.cloud_service:
        kind = ScopeKind.CLOUD_SERVICE
    plain = VmSpec()
    return VmSpec(
        kind=kind,
        set_name=body.availability_set or body.cloud_service or "",
        role=body.role or "",
        spot=body.spot,
        eviction_policy=EvictionPolicy(body.eviction_policy),
        vnet=body.vnet,
        resource_group=body.resource_group,
        terminate_notice=duration(body.terminate_notice_seconds),
        os_image_notice=duration(body.os_image_notice_seconds),
        size=body.size or plain.size,
        os_type=body.os_type or plain.os_type,
        tags=tuple(body.tags.items()),
    )


@router.get("", summary="List VMs")
def list_vms(page: Annotated[VmPage, Query()], listed: TheListed) -> VmsAnswer:
    """In pages, by name; those that fit all filters that are given. A page may be short and go on: see `looked_at`."""
    chosen, region = vms_of(listed, page), listed.look.region
    vms = [vm_fields(region, vm) for vm in chosen.things]
    return VmsAnswer(vms=vms, next=chosen.next, looked_at=chosen.looked_at, total=len(region.vms))


@router.get("/{name}", summary="Show a VM")
async def show(name: str, look: TheLook) -> VmStory:
    """A VM with the events that will hit it. Names are compared without regard to case."""
    vm = vm_named(look.region, name)
    events = [look.region.events[event_id] for event_id in vm.events]
    shown = [event_fields(look, event) for event in events if event.announced]
    shared = shared_address(look.region, vm)
    return VmStory(**dict(vm_fields(look.region, vm)), events=shown, shared_address=shared)


@router.get("/{name}/document", summary="Show the document that a VM sees", responses=_SEEN, response_class=Response)
async def document(name: str, query: Annotated[ReadQuery, Query()], look: TheLook, desk: TheDesk) -> Response:
    """The bytes that the metadata face would send this VM now, as they are, with their `ETag`.

    Looking is not reading: nothing is noted and nothing is enabled. Where nobody has read for the scope, which
    `X-Forewarn-Enabled` says, it is what the first read would get. No throttle or fault rule is in the way.
    """
    version = find_version(query.api_version)
    region, scope, enabled = seen_by(look, desk.visible, name, desk.plane.rules)
    headers = {
        "ETag": f'"{scope.incarnation}"',
        "X-Forewarn-Scope": scope.key,
        "X-Forewarn-Enabled": str(enabled).lower(),
    }
    return Response(document_bytes(region, scope, version, desk.not_before_format), 200, headers, JSON)


@router.get("/{name}/instance", summary="Show the instance metadata of a VM", responses=_SEEN, response_class=Response)
async def instance(name: str, query: Annotated[InstanceQuery, Query()], look: TheLook) -> Response:
    """The bytes that the metadata face would send this VM for `/metadata/instance`, as they are."""
    vm = vm_named(look.region, name)
    return Response(instance_of(look.region, vm, query.api_version), 200, None, JSON)


@router.get("/{name}/reads", summary="Watch the reads of a VM")
async def reads(name: str, look: TheLook, desk: TheDesk) -> WatchedReadsAnswer:
    """Who has read which incarnation with which api-version, at this node, since the VM is watched.

    Asking begins it: nothing is noted of VMs that nobody asks about. Notes live in memory; a fault rule's answer is one
    too, and a read that another node answered is not here.
    """
    vm = vm_named(look.region, name)
    if not desk.metadata_url:
        raise Refused(Hint.CONFLICT, "No VM reads at this node, it has no metadata face; ask one that has.")
    elapsed = desk.plane.system.elapsed()
    noted = [
        WatchedReadAnswer(
            at=read.at,
            seconds_ago=round(elapsed - read.elapsed, 1),
            api_version=read.api_version,
            status=read.status,
            incarnation=read.incarnation,
            client=read.client,
        )
        for read in desk.watched.ask(vm.name, elapsed)
    ]
    return WatchedReadsAnswer(reads=noted, seconds_watched=SECONDS_WATCHED)


@router.post("/{name}/read", summary="Let a VM read its document")
async def read(name: str, asker: TheAsker, desk: TheDesk, api_version: DocumentVersion = NEWEST.date) -> ReadAnswer:
    """One read by this VM, on purpose: it enables the VM's scope as its first GET would, and counts as a sign of life.

    The journal has it with the door of whoever asked. No lag, throttle, first-read delay or fault rule is in the way.
    """
    look = asker.look()
    vm, version = vm_named(look.region, name), find_version(api_version)
    facts = await asker.submit(c.Pulse(((vm.key, look.now),)))
    return await asker.tell(read_by, asker.look(), facts, vm.name, version, desk.not_before_format)


@router.post("/restart", status_code=202, summary="Restart VMs")
async def restart(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """A Reboot event for each VM; at once where nobody in the scope reads scheduled events."""
    return await _act(asker, body, c.RestartVms(tuple(body.names), asker.new_guid()), outcomes.RESTARTED)


@router.post("/redeploy", status_code=202, summary="Redeploy VMs")
async def redeploy(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """A Redeploy event for each VM, which then moves to another host; at once where nobody reads."""
    return await _act(asker, body, c.RedeployVms(tuple(body.names), asker.new_guid()), outcomes.REDEPLOYED)


@router.post("/reimage", status_code=202, summary="Reimage VMs")
async def reimage(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """Give VMs a fresh OS disk: a Reboot event for each with an OS image notice in a scope that reads."""
    return await _act(asker, body, c.ReimageVms(tuple(body.names), asker.new_guid()), outcomes.REIMAGED)


@router.post("/evict", status_code=202, summary="Evict Spot VMs")
async def evict(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """A Preempt event for each VM, which is then deallocated or deleted by its policy; at once where nobody reads."""
    return await _act(asker, body, c.EvictVms(tuple(body.names), asker.new_guid()), outcomes.EVICTED)


@router.post("/delete", status_code=202, summary="Delete VMs")
async def delete(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """A Terminate event for each VM with a terminate notice in a scope that reads; at once for the others."""
    return await _act(asker, body, c.DeleteVms(tuple(body.names), asker.new_guid()), outcomes.DELETED)


@router.post("/stop", status_code=202, summary="Stop VMs")
async def stop(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """Power VMs off, at once; they keep their hosts. A VM that is stopped or deallocated already stays so."""
    return await _act(asker, body, c.StopVms(tuple(body.names)), outcomes.STOPPED)


@router.post("/deallocate", status_code=202, summary="Deallocate VMs")
async def deallocate(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """Stop VMs and give back their hosts, at once. A VM that is deallocated already stays so."""
    return await _act(asker, body, c.DeallocateVms(tuple(body.names)), outcomes.DEALLOCATED)


@router.post("/start", status_code=202, summary="Start VMs")
async def start(body: NamesBody, asker: TheAsker) -> OutcomeAnswer:
    """Start VMs that are stopped or deallocated, at once. A VM that runs already goes on running."""
    return await _act(asker, body, c.StartVms(tuple(body.names)), outcomes.STARTED)


async def _act(asker: Asker, body: NamesBody, command: c.Command, deed: Deed) -> OutcomeAnswer:
    before = asker.look()
    facts = await asker.submit(command)
    tell = asker.tell_few if len(body.names) + len(facts) <= _FEW else asker.tell
    return await tell(outcome_of, before, asker.look(), facts, deed, body.names)
