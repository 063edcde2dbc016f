"""What each fact is about, as the text by which a journal finds one thing's story."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forewarn.core import facts as f
from forewarn.core.machines import facts as machines
from forewarn.core.tokens import facts as tokens


def subject_of(fact: f.Fact) -> str:
    """What the fact is about, so that a journal can be asked for one thing's story."""
    return _SUBJECTS[type(fact)](fact)


_STEPS = (f.EventAnnounced, f.EventApproved, f.EventStarted, f.EventCanceled, f.EventCompleted)
_IMPACTS = (f.ImpactBegan, f.ImpactEnded)
_OF_VMS = (f.VmBound, f.VmMoved, f.VmStopped, f.VmDeallocated, f.VmStarted, f.VmDeleted, f.VmRespecified, f.VmSpared)
_OF_SCOPES = (f.PolicySet, f.ScopeEnabled, f.ScopeRead, f.ScopeDisabled, f.ScopeRemoved)
_OF_SETS = (f.ScaleSetChanged, f.ScaleSetModelChanged, f.ScaleSetDeletionAsked, f.ScaleSetDeleted)
_OF_ROLLING = (f.RollingUpgradeStarted, f.RollingUpgradeBatched, f.RollingUpgradeEnded)
_STATES = (f.CampaignPaused, f.CampaignResumed, f.CampaignCanceled, f.CampaignCompleted)
_WORK = (f.CampaignStarted, f.CampaignWaveBegan, f.CampaignHostsTaken)

# How each kind of fact names its subject. The journal's index holds these texts, so they never change.
_SUBJECTS: dict[type, Callable[[Any], str]] = {
    **dict.fromkeys((f.EventScheduled, f.EventBornStarted), lambda fact: fact.event.id),
    **dict.fromkeys((*_STEPS, *_IMPACTS), lambda fact: fact.event_id),
    f.VmCreated: lambda fact: f"vm/{fact.name.lower()}",
    **dict.fromkeys((*_OF_VMS, f.InstanceUpgraded, f.InstanceProtected), lambda fact: f"vm/{fact.vm}"),
    f.ScopeCreated: lambda fact: f"{fact.kind.value}/{fact.name.lower()}",
    **dict.fromkeys(_OF_SCOPES, lambda fact: fact.scope),
    **dict.fromkeys((f.HostAdded, f.HostMarked), lambda fact: f"host/{fact.host}"),
    f.ClockMoved: lambda _: "clock",
    f.ScopesRead: lambda _: "reads",
    f.ScaleSetCreated: lambda fact: f"scale-set/{fact.name.lower()}",
    **dict.fromkeys((*_OF_SETS, *_OF_ROLLING), lambda fact: f"scale-set/{fact.scale_set}"),
    **dict.fromkeys((f.OperationStarted, f.OperationEnded), lambda fact: fact.operation_id),
    **dict.fromkeys((f.ResourceKept, f.ResourceForgotten), lambda fact: fact.id.lower()),
    **dict.fromkeys((*_STATES, *_WORK), lambda fact: fact.campaign_id),
    **machines.SUBJECTS,
    **dict.fromkeys((tokens.TokenMade, tokens.TokenRevoked), tokens.subject),
}
