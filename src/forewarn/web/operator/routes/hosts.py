"""Hosts: the machines of the platform, their maintenance and their failures."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from forewarn.core.causes import HOST_MAINTENANCE, Cause
from forewarn.core.commands import Command, FailHosts, MaintainHosts
from forewarn.core.looking.lookup import host_named
from forewarn.web.operator.desk import Asker, TheAsker, TheListed, TheLook
from forewarn.web.operator.listing.choosing import hosts_of
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import HostAnswer, HostsAnswer, OutcomeAnswer
from forewarn.web.operator.schema.listing import HostPage
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


async def _act(asker: Asker, command: Command, deed: Deed) -> OutcomeAnswer:
    before = asker.look()
    facts = await asker.submit(command)
    return await asker.tell(outcome_of, before, asker.look(), facts, deed)
