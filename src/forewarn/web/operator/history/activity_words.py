"""Requests in words: what was asked, and what came of it, from the facts that the journal has of them.

A command itself is not kept, only its kind and its facts. What fell due in the same moment is told along with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES, Cause, Effect
from forewarn.core.machines import facts as mf
from forewarn.core.region import Event
from forewarn.core.tokens.facts import TokenMade, TokenRevoked
from forewarn.web.unpublished import WARNING, asks_to_publish

FindEvent: TypeAlias = Callable[[str], Event | None]
_Phrase: TypeAlias = tuple[str, str]  # what is counted, and what happened to it; the first may be empty

# Which kinds of things a command is about.
_VM, _SET, _HOST, _CAMPAIGN, _RESOURCE = ("vm",), ("scale-set",), ("host",), ("campaign",), ("resource",)
_TOKEN = ("token",)
_SCOPE = ("availability-set", "cloud-service", "placement-group", "vm")

COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "CreateVms": ("create VMs", _VM),
    "BindVm": ("bind a VM to an address", _VM),
    "BindNic": ("bind a VM to the address of its network interface", _VM),
    "DeleteVms": ("delete VMs", _VM),
    "RestartVms": ("restart VMs", _VM),
    "RedeployVms": ("redeploy VMs", _VM),
    "EvictVms": ("evict VMs", _VM),
    "DeallocateVms": ("deallocate VMs", _VM),
    "StopVms": ("stop VMs", _VM),
    "ReimageVms": ("reimage VMs", _VM),
    "RespecifyVm": ("change a VM", _VM),
    "StartVms": ("start VMs", _VM),
    "PutAvailabilitySet": ("put an availability set", _SCOPE),
    "DeleteAvailabilitySet": ("delete an availability set", _SCOPE),
    "PutScaleSet": ("change a scale set", _SET),
    "DeleteScaleSet": ("delete a scale set", _SET),
    "DeleteInstances": ("delete instances", _VM),
    "UpgradeInstances": ("upgrade instances", _VM),
    "StartRollingUpgrade": ("start a rolling upgrade", _SET),
    "CancelRollingUpgrade": ("cancel a rolling upgrade", _SET),
    "ProtectInstance": ("protect an instance", _VM),
    "KeepResource": ("keep a resource", _RESOURCE),
    "ForgetResource": ("forget a resource", _RESOURCE),
    "SetPolicy": ("set a policy", _SCOPE),
    "MaintainHosts": ("maintain hosts", _HOST),
    "FailHosts": ("let hosts fail", _HOST),
    "StartCampaign": ("start a campaign", _CAMPAIGN),
    "PauseCampaign": ("pause a campaign", _CAMPAIGN),
    "ResumeCampaign": ("resume a campaign", _CAMPAIGN),
    "CancelCampaign": ("cancel a campaign", _CAMPAIGN),
    "Approve": ("approve events", _VM),
    "CancelEvents": ("cancel events", _VM),
    "Pulse": ("read documents", _SCOPE),
    "BeginImpact": ("begin impacts", _VM),
    "EndImpact": ("end impacts", _VM),
    "Tick": ("let time pass", _VM),
    "RegisterHost": ("add a host", _HOST),
    "RemoveHost": ("remove a host", _HOST),
    "DrainHost": ("drain a host", _HOST),
    "ResumeHost": ("resume a host", _HOST),
    "AdoptMachine": ("adopt a machine", _VM),
    "ReleaseMachine": ("release a machine", _VM),
    "TryErrand": ("try an errand", _VM),
    "ReportErrand": ("tell of an errand", _VM),
    "Sight": ("tell what is at a host", (*_VM, *_HOST)),
    "HostFellSilent": ("tell that a host is silent", _HOST),
    "HostAnswered": ("tell that a host answers", _HOST),
    "FenceHost": ("fence a host", _HOST),
    "ConfirmLost": ("confirm that a host is lost", _HOST),
    "MakeToken": ("make a token", _TOKEN),
    "RevokeToken": ("revoke a token", _TOKEN),
    "Together": ("several things at once", (*_SET, "availability-set", *_VM)),
}
_KINDS = dict(COMMANDS.values()) | {"create a scale set": _SET, "scale a scale set": _SET}

# What was asked, by the facts that followed: for commands that could be several things.
_TELLING: dict[type, str] = {
    f.ScaleSetCreated: "create a scale set",
    f.ScaleSetChanged: "change a scale set",
    f.ScaleSetModelChanged: "change a scale set",
    f.ScaleSetDeletionAsked: "delete a scale set",
    f.InstanceUpgraded: "upgrade instances",
    f.InstanceProtected: "protect an instance",
    f.VmCreated: "create VMs",
    f.VmRespecified: "change a VM",
    f.VmDeallocated: "deallocate VMs",
    f.VmStopped: "stop VMs",
    f.VmStarted: "start VMs",
    f.VmDeleted: "delete VMs",
    f.ScopeRemoved: "delete an availability set",
    f.EventApproved: "approve events",
}
_TELLING_CAUSES: dict[Cause, str] = {
    Cause.USER_RESTART: "restart VMs",
    Cause.USER_REDEPLOY: "redeploy VMs",
    Cause.REIMAGE: "reimage VMs",
    Cause.EVICTION: "evict VMs",
    Cause.DELETION: "delete VMs",
}

_ABOUT_SETS = (f.ScaleSetCreated, f.ScaleSetChanged, f.ScaleSetModelChanged, f.ScaleSetDeletionAsked)

_DONE = {
    Effect.PAUSE: "frozen",
    Effect.MIGRATE: "moved",
    Effect.RESTART: "restarted",
    Effect.REDEPLOY: "redeployed",
    Effect.EVICT: "evicted",
    Effect.DELETE: "deleted",
    Effect.REIMAGE: "reimaged",
}

_PHRASES: dict[type, _Phrase] = {
    f.PolicySet: ("policy", "set"),
    TokenMade: ("token", "made"),
    TokenRevoked: ("token", "revoked"),
    f.VmCreated: ("VM", "created"),
    f.VmMoved: ("VM", "moved"),
    f.VmStopped: ("VM", "stopped"),
    f.VmDeallocated: ("VM", "deallocated"),
    f.VmStarted: ("VM", "started"),
    f.VmDeleted: ("VM", "deleted"),
    f.VmRespecified: ("VM", "changed"),
    f.VmSpared: ("VM", "spared by its old host's event"),
    f.HostMarked: ("host", "marked"),
    f.ScopeRemoved: ("scope", "removed"),
    f.ScopeEnabled: ("scope", "enabled"),
    f.ScopeRead: ("scope", "read for"),
    f.ScopeDisabled: ("scope", "disabled"),
    f.ScaleSetCreated: ("scale set", "created"),
    f.ScaleSetChanged: ("scale set", "changed"),
    f.ScaleSetDeletionAsked: ("scale set", "to be deleted"),
    f.ScaleSetDeleted: ("scale set", "deleted"),
    f.RollingUpgradeStarted: ("rolling upgrade", "started"),
    f.RollingUpgradeEnded: ("rolling upgrade", "ended"),
    f.InstanceUpgraded: ("instance", "upgraded"),
    f.CampaignStarted: ("campaign", "started"),
    f.CampaignWaveBegan: ("wave", "begun"),
    f.CampaignPaused: ("campaign", "paused"),
    f.CampaignResumed: ("campaign", "resumed"),
    f.CampaignCanceled: ("campaign", "canceled"),
    f.CampaignCompleted: ("campaign", "completed"),
    mf.HostRegistered: ("host", "added"),
    mf.HostSilent: ("host", "silent"),
    mf.HostBack: ("host", "back"),
    mf.HostFenced: ("host", "lost"),
    mf.HostDraining: ("host", "draining"),
    mf.HostResumed: ("host", "resumed"),
    mf.HostLeft: ("host", "removed"),
    mf.MachineAdopted: ("machine", "adopted"),
    mf.MachineReleased: ("machine", "released"),
    mf.MachineDefined: ("machine", "described by its engine"),
    mf.MachineCleared: ("machine", "gone from its former host"),
    mf.MachineDoubled: ("machine", "looked at for running twice"),
    mf.MachineAlarmed: ("alarm", "changed"),
    mf.ErrandMade: ("errand", "made"),
    mf.ErrandEnded: ("errand", "done"),
    mf.ErrandGivenUp: ("errand", "given up"),
}

# Told only where there is nothing better to tell.
_BESIDE: dict[type, _Phrase] = {
    f.HostAdded: ("host", "added"),
    f.ScopeCreated: ("scope", "created"),
    f.VmBound: ("VM", "bound"),
    f.CampaignHostsTaken: ("campaign", "moved on"),
    f.RollingUpgradeBatched: ("rolling upgrade", "moved on"),
    f.ResourceKept: ("resource", "kept"),
    f.ResourceForgotten: ("resource", "forgotten"),
    f.OperationStarted: ("operation", "started"),
    f.OperationEnded: ("operation", "ended"),
    mf.MachineSeen: ("machine", "seen"),
    mf.ErrandTried: ("errand", "tried"),
    mf.ErrandPlaced: ("errand", "placed"),
    mf.ErrandHindered: ("errand", "hindered"),
}

_STEPS: dict[type, str] = {
    f.EventAnnounced: "announced",
    f.EventApproved: "approved",
    f.EventStarted: "started",
    f.EventCanceled: "canceled",
    f.EventCompleted: "completed",
}
_MOVES = (f.EventStarted, f.EventCompleted, f.EventApproved, f.EventAnnounced, f.EventCanceled)  # those of _STEPS
_IMPACTS = (f.ImpactBegan, f.ImpactEnded)

# What an event is called, by whether anybody was told of it, and by its cause.
_NOUNS = {
    (announced, cause): f"{'' if announced else 'unannounced '}{row.type.value} event"
    for cause, row in CAUSES.items()
    for announced in (True, False)
}


def words_of(command: str, facts: Sequence[f.Fact]) -> str:
    """What was asked."""
    match command:
        case "PutScaleSet":
            return next(filter(None, map(_told_of_set, facts)), "scale a scale set")
        case "Tick" if any(isinstance(fact, f.ClockMoved) for fact in facts):
            return "move the clock"
        case "Together":
            told = filter(None, (*map(_told_of_set, facts), *map(_telling, facts)))
            return next(told, _kind_of(facts))
    return COMMANDS.get(command, (command, ()))[0]


def kinds_of(words: str) -> tuple[str, ...]:
    """Which kinds of things such a request is about, the likeliest first."""
    return _KINDS.get(words, COMMANDS["Together"][1])


def _told_of_set(fact: f.Fact) -> str:
    return _TELLING[type(fact)] if isinstance(fact, _ABOUT_SETS) else ""


def _telling(fact: f.Fact) -> str:
    if isinstance(fact, f.EventScheduled | f.EventBornStarted):
        return _TELLING_CAUSES.get(fact.event.cause, "")
    return _TELLING.get(type(fact), "")


def _kind_of(facts: Sequence[f.Fact]) -> str:
    """As the Resource Manager calls it: the verb of ``Microsoft.Compute/virtualMachines/reapply/action``."""
    kinds = (
        fact.kind.removesuffix("/action").rpartition("/")[2] for fact in facts if isinstance(fact, f.OperationStarted)
    )
    return next(filter(None, kinds), COMMANDS["Together"][0])


def outcome_of_facts(facts: Sequence[f.Fact], find: FindEvent) -> str:
    """What came of it, counted: the same thing that happened to many is told once."""
    counts: dict[_Phrase, int] = {}
    for fact in facts:
        phrase, number = _phrase(fact, find)
        if phrase is not None:
            counts[phrase] = counts.get(phrase, 0) + number
    if not counts:
        beside = (_BESIDE[type(fact)] for fact in facts if type(fact) in _BESIDE)
        counts = dict(Counter(beside))
    return "; ".join(_told(phrase, number, facts) for phrase, number in counts.items())


def kinds_of_outcome(facts: Sequence[f.Fact], find: FindEvent) -> frozenset[_Phrase | type]:
    """What came of it without how often: the same for requests that did the same to others."""
    return frozenset(_phrase(fact, find)[0] or type(fact) for fact in facts)


def _phrase(fact: f.Fact, find: FindEvent) -> tuple[_Phrase | None, int]:
    """What is counted of a fact, and how many of it. By its kind first: a turn of the clock tells of thousands."""
    if isinstance(fact, _MOVES):
        event = find(fact.event_id)
        silent = isinstance(fact, f.EventApproved) and event is not None and not event.announced
        return (None, 0) if silent else ((_event_noun(event), _STEPS[type(fact)]), 1)
    if isinstance(fact, _IMPACTS):
        impact = _event_noun(find(fact.event_id)).removesuffix("event") + "impact"
        return (impact, "begun" if isinstance(fact, f.ImpactBegan) else "over"), 1
    return _seldom(fact) or (_PHRASES.get(type(fact)), 1)


def _seldom(fact: f.Fact) -> tuple[_Phrase, int] | None:
    """The same of facts whose words depend on what is in them."""
    match fact:
        case f.ScopesRead(scopes=scopes):
            return _PHRASES[f.ScopeRead], len(scopes)
        case f.EventScheduled(event=event) | f.EventBornStarted(event=event) if not event.announced:
            done = _DONE[CAUSES[event.cause].effect]
            told = f"{done} at once" if isinstance(fact, f.EventBornStarted) else f"to be {done}"
            return ("VM", f"{told}, and nobody is told"), len(event.vms)
        case f.EventScheduled(event=event):
            return (_event_noun(event), "scheduled"), 1
        case f.EventBornStarted(event=event):
            return (_event_noun(event), "started at once"), 1
        case f.ScaleSetModelChanged(model=model):
            return ("", f"model {model}"), 1
        case f.InstanceProtected(protected=protected):
            return ("instance", "protected" if protected else "no longer protected"), 1
        case f.ResourceKept(body=body) if asks_to_publish(body):
            return ("", WARNING), 1
        case f.ClockMoved(at=at):
            return ("", f"it is {at:%Y-%m-%dT%H:%M:%SZ}"), 1
    return None


def _event_noun(event: Event | None) -> str:
    if event is None:
        return "event"
    return _NOUNS[event.announced, event.cause]


def _told(phrase: _Phrase, number: int, facts: Iterable[f.Fact]) -> str:
    noun, happened = phrase
    if not noun:
        return happened
    told = f"{number} {_plural(noun) if number != 1 else noun} {happened}"
    if happened != "scheduled":
        return told
    earliest = min(
        fact.event.not_before
        for fact in facts
        if isinstance(fact, f.EventScheduled) and fact.event.announced and _event_noun(fact.event) == noun
    )
    return f"{told}, not before {earliest:%Y-%m-%dT%H:%M:%SZ}"


def _plural(noun: str) -> str:
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
