"""Hosts: the machines of the platform, their maintenance and their failures."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Query

from forewarn.core.causes import HOST_MAINTENANCE, Cause
from forewarn.core.commands import Command, ConfirmLost, DrainHost, FailHosts, MaintainHosts, RemoveHost, ResumeHost
from forewarn.core.looking.errands import hosts_of as hosts_of_engine
from forewarn.core.looking.lookup import host_named
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import DOWN, HostHealth, RealHost
from forewarn.plane.hands.engine import EngineFault
from forewarn.web.operator.desk import Asker, TheAsker, TheDesk, TheListed, TheLook
from forewarn.web.operator.listing.choosing import hosts_of
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import HostAnswer, HostsAnswer, OutcomeAnswer
from forewarn.web.operator.schema.listing import HostPage
from forewarn.web.operator.schema.machines import HostChanged, HostNameBody
from forewarn.web.operator.schema.requests import FailBody, MaintainBody
from forewarn.web.operator.telling.outcomes import NOBODY_READS, Deed, outcome_of
from forewarn.web.operator.telling.views import host_fields

router = routes_below("/v1/hosts", "hosts")

_MAINTAINED = Deed(
    "worked on",
    NOBODY_READS,
    HOST_MAINTENANCE,
    nothing="No VM lives there, so there was nothing to do and nobody to tell.",
)
_FAILED = Deed("rebuilt elsewhere", NOBODY_READS, (Cause.FAILURE,), nothing="No VM lived there, so nobody was hit.")


@router.get("", summary="List hosts")
def list_hosts(page: Annotated[HostPage, Query()], listed: TheListed) -> HostsAnswer:
    """In pages, by number, each with the VMs that live on it; those that fit all filters that are given.

    A page may be short and go on: see `looked_at`.
    """
    chosen, region = hosts_of(listed, page), listed.look.region
    hosts = [host_fields(region, host) for host in chosen.things]
    return HostsAnswer(hosts=hosts, next=chosen.next, looked_at=chosen.looked_at, total=len(region.hosts))


@router.get("/{name}", summary="Show a host")
async def show(name: str, look: TheLook) -> HostAnswer:
    """Its domains, its health, and the VMs that live on it."""
    return host_fields(look.region, host_named(look.region, name))


@router.post("/maintain", status_code=202, summary="Maintain hosts")
async def maintain(body: MaintainBody, asker: TheAsker) -> OutcomeAnswer:
    """One event for each scope on each host. A host's work starts when all of them are approved, or at NotBefore."""
    return await _act(asker, MaintainHosts(tuple(body.hosts), Cause(body.kind), asker.new_guid()), _MAINTAINED)


@router.post("/fail", status_code=202, summary="Let hosts fail")
async def fail(body: FailBody, asker: TheAsker) -> OutcomeAnswer:
    """The hosts break now: their events are born started, and their VMs are rebuilt on other hosts."""
    return await _act(asker, FailHosts(tuple(body.hosts), asker.new_guid()), _FAILED)


@router.post("/add", status_code=201, summary="Let a host take part")
async def add(body: HostNameBody, asker: TheAsker, desk: TheDesk) -> HostChanged:
    """A host that the server's own region file declares: from now on machines there can be adopted and made."""
    host = desk.plane.hands.declared(body.name)
    try:
        registering = await asyncio.to_thread(host.registering)
    except EngineFault as fault:
        raise Refused(Hint.CONFLICT, f"The engine of host '{host.name}' did not answer: {fault}") from None
    await asker.submit(registering)
    return await _changed(asker, host.name, f"Host '{host.name}' takes part; it has room for {host.capacity} VMs.")


@router.post("/confirm-lost", status_code=202, summary="Say that a silent host is off")
async def confirm_lost(body: HostNameBody, asker: TheAsker) -> OutcomeAnswer:
    """Only where you know it: its VMs are started elsewhere, and would run twice if it were not off."""
    return await _act(asker, ConfirmLost(body.name, asker.name), _FAILED)


@router.post("/remove", status_code=202, summary="Let a host go")
async def remove(body: HostNameBody, asker: TheAsker) -> HostChanged:
    """One without VMs leaves at once. One with VMs is drained first (see `drain`): ask again when they are gone."""
    host = _real(asker, body.name)
    if not host.vms:
        await asker.submit(RemoveHost(host.name))
        return await _changed(asker, host.name, f"Host '{host.name}' takes no part any more.")
    if host.health is not HostHealth.DRAINING:
        await _drain(asker, host)
    return await _changed(asker, host.name, f"{_leaving(asker, host)} Remove it again after that.")


@router.post("/drain", status_code=202, summary="Drain a host of real machines")
async def drain(body: HostNameBody, asker: TheAsker) -> HostChanged:
    """Nothing is placed there any more, and its VMs are moved away, with events. Undone by `resume`."""
    host = _real(asker, body.name)
    await _drain(asker, host)
    return await _changed(asker, host.name, _leaving(asker, host))


@router.post("/resume", summary="Let a host take machines again")
async def resume(body: HostNameBody, asker: TheAsker) -> HostChanged:
    """After it was drained, or was called failing or failed. Events that were made to drain it are not taken back."""
    host = _real(asker, body.name)
    await asker.submit(ResumeHost(host.name))
    return await _changed(asker, host.name, f"Host '{host.name}' takes machines again.")


def _real(asker: Asker, name: str) -> RealHost:
    host = host_named(asker.look().region, name)
    if not isinstance(host, RealHost):
        raise Refused(Hint.CONFLICT, f"Host '{host.name}' is only pretended; it comes and goes with its VMs.")
    return host


async def _drain(asker: Asker, host: RealHost) -> None:
    if host.vms and len(hosts_of_engine(asker.look().region, host.engine)) == 1:
        raise Refused(
            Hint.CONFLICT,
            f"Host '{host.name}' has {len(host.vms)} VMs, and engine '{host.engine}' has no other host for them: "
            "delete or release them, or add a host.",
        )
    await asker.submit(DrainHost(host.name, asker.new_guid()))


def _leaving(asker: Asker, host: RealHost) -> str:
    region = asker.look().region
    down = sum(1 for key in host.vms if region.vms[key].power in DOWN)
    up = len(host.vms) - down
    told = f"{up} VMs are to leave host '{host.name}' first, with events." if up else ""
    stays = f"{down} VMs there are down and stay: start them, which takes them elsewhere, or delete or release them."
    nothing = f"Nothing is placed at host '{host.name}' any more, and no VM is there."
    return " ".join(each for each in (told, stays if down else "") if each) or nothing


async def _changed(asker: Asker, name: str, message: str) -> HostChanged:
    host = asker.look().region.real_host(name)  # which may have left by now
    assert host is not None, "it was added, or found, before"
    return await asker.tell_few(HostChanged, name=host.name, health=host.health.value, message=message)


async def _act(asker: Asker, command: Command, deed: Deed) -> OutcomeAnswer:
    before = asker.look()
    facts = await asker.submit(command)
    return await asker.tell(outcome_of, before, asker.look(), facts, deed)
