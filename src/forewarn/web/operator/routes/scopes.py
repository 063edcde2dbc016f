"""Scopes: who sees a document and may approve what is in it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from forewarn.core.commands import SetPolicy
from forewarn.core.looking.lookup import scope_named
from forewarn.core.region import Region
from forewarn.core.specs import Policy
from forewarn.web.operator.desk import TheAsker, TheListed, TheLook
from forewarn.web.operator.listing.choosing import scopes_of
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import ScopeAnswer, ScopeChanged, ScopesAnswer
from forewarn.web.operator.schema.listing import ScopePage
from forewarn.web.operator.schema.requests import PolicyBody
from forewarn.web.operator.telling.views import scope_fields

router = routes_below("/v1/scopes", "scopes")


@router.get("", summary="List scopes")
def list_scopes(page: Annotated[ScopePage, Query()], listed: TheListed) -> ScopesAnswer:
    """In pages, by key; those that fit all filters that are given. A page may be short and go on: see `looked_at`.

    A lone VM that nobody has read for is not listed, but can be shown.
    """
    chosen, total = scopes_of(listed, page), len(listed.look.region.scopes)
    scopes = [scope_fields(scope) for scope in chosen.things]
    return ScopesAnswer(scopes=scopes, next=chosen.next, looked_at=chosen.looked_at, total=total)


@router.get("/{kind}/{name}", summary="Show a scope")
async def show(kind: str, name: str, look: TheLook) -> ScopeAnswer:
    """Whether anybody reads for it, its incarnation, its events and its policy."""
    return scope_fields(scope_named(look.region, f"{kind}/{name}"))


@router.put("/{kind}/{name}/policy", summary="Set the policy of a scope")
async def set_policy(kind: str, name: str, body: PolicyBody, asker: TheAsker) -> ScopeChanged:
    """Which events nobody has to approve. The whole policy is replaced; events that exist are not touched."""
    key = f"{kind}/{name}"
    policy = Policy(body.auto_approve_reboot, body.auto_approve_redeploy, body.all_instances_down)
    await asker.submit(SetPolicy(key, policy))
    return await asker.tell(_changed, asker.look().region, key)


def _changed(region: Region, key: str) -> ScopeChanged:
    return ScopeChanged(**dict(scope_fields(scope_named(region, key))))
