"""How one fact changes a region. No rule lives here: what the journal holds has happened.

Each family of facts is folded by a module of its own; this is the one way in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from forewarn.core import facts as f
from forewarn.core.folding import events, sets
from forewarn.core.folding.campaigns import CampaignFact, fold_campaign
from forewarn.core.folding.fleet import ScopeFact, VmFact, fold_scope, fold_vm
from forewarn.core.folding.hosts import fold_host
from forewarn.core.folding.machines import fold_errand, fold_host_of_machines, fold_machine
from forewarn.core.lifecycle import EventMoved
from forewarn.core.machines import facts as mf
from forewarn.core.region import Region, replace
from forewarn.core.tokens.facts import TokenFact, TokenMade
from forewarn.core.tokens.values import AccessToken


def fold_token(region: Region, fact: TokenFact) -> Region:
    """A token holds from here on, or no more."""
    if isinstance(fact, TokenMade):
        made = AccessToken(fact.token_id, fact.name, fact.role, fact.digest, fact.at, fact.vms, fact.host)
        return replace(region, tokens=region.tokens.set(made.id, made))
    return replace(region, tokens=region.tokens.delete(fact.token_id))


# Which fold takes which kind of fact. A table, because a start folds millions of them.
FOLDS: dict[type, Callable[[Region, Any], Region]] = {
    **dict.fromkeys(get_args(EventMoved), events.event_moved),
    **dict.fromkeys((f.EventScheduled, f.EventBornStarted), events.event_added),
    f.EventAnnounced: events.event_announced,
    f.ImpactBegan: events.impact_began,
    f.ImpactEnded: events.impact_ended,
    f.VmSpared: events.vm_spared,
    **dict.fromkeys(get_args(VmFact), fold_vm),
    **dict.fromkeys(get_args(ScopeFact), fold_scope),
    **dict.fromkeys((f.HostAdded, f.HostMarked), fold_host),
    **dict.fromkeys(get_args(CampaignFact), fold_campaign),
    **dict.fromkeys(get_args(sets.ScaleSetFact), sets.fold_scale_set),
    **dict.fromkeys((f.OperationStarted, f.OperationEnded), sets.fold_operation),
    **dict.fromkeys((f.ResourceKept, f.ResourceForgotten), sets.fold_resource),
    f.ClockMoved: lambda region, _: region,
    **dict.fromkeys(get_args(TokenFact), fold_token),
    **dict.fromkeys(get_args(mf.HostFact), fold_host_of_machines),
    **dict.fromkeys(get_args(mf.MachineFact), fold_machine),
    **dict.fromkeys(get_args(mf.ErrandFact), fold_errand),
}


def evolve(region: Region, fact: f.Fact) -> Region:
    """The region after ``fact``."""
    return replace(FOLDS[type(fact)](region, fact), latest_at=fact.at)
