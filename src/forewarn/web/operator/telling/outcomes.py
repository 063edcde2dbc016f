"""What came of a request, from the facts that it made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.deciding.events import joined
from forewarn.core.looking.turns import domains_open, is_in_hand
from forewarn.core.phases import Phase
from forewarn.core.region import Event, Region, Vm, fold, replace
from forewarn.web.operator.desk import Look
from forewarn.web.operator.schema.fleet_answers import EventAnswer, OutcomeAnswer
from forewarn.web.operator.telling.views import event_fields, vm_names

NOBODY_READS = "nobody in the scope reads scheduled events"
_IDS_MOST = 3  # a sentence that a person reads to its end
_WARNINGS_MOST = 3  # what a person reads to its end; more of them say the same of other VMs
# The option that gives a VM each notice, with a value that is allowed; see core.deciding.fleet for the bounds.
_OPTIONS = {"terminate_notice": "--terminate-notice 10m", "os_image_notice": "--os-image-notice 15m"}
_DIRECT = (f.VmDeleted, f.VmDeallocated, f.VmStopped, f.VmStarted, f.InstanceUpgraded, f.InstanceProtected)


@dataclass(frozen=True)
class Deed:
    """What was asked for: which causes it works by, and how to tell that it was done without an event.

    ``notice`` names the field of a VM's specification without which even a VM that reads is not warned.
    """

    done: str
    why: str
    causes: Collection[Cause] = ()
    notice: str = ""
    nothing: str = "Nothing had to be done."  # the sentence where no VM was hit and no event was made


# What users do to VMs, lone ones and instances of scale sets

RESTARTED = Deed("restarted", NOBODY_READS, (Cause.USER_RESTART,))
REDEPLOYED = Deed("redeployed", NOBODY_READS, (Cause.USER_REDEPLOY,))
REIMAGED = Deed(
    "reimaged",
    "only a VM with an OS image notice, where scheduled events are read, is warned",
    (Cause.REIMAGE,),
    "os_image_notice",
)
EVICTED = Deed("evicted", NOBODY_READS, (Cause.EVICTION,))
STOPPED = Deed("stopped", "stopping never makes one")
DEALLOCATED = Deed("deallocated", "deallocation never makes one")
STARTED = Deed("started", "")
DELETED = Deed(
    "deleted",
    "only a VM with a terminate notice, where scheduled events are read, is warned",
    (Cause.DELETION,),
    "terminate_notice",
)
UPGRADED = Deed("given the latest model", "")
PROTECTED = Deed("protected from scale-in", "")
EXPOSED = Deed("opened to scale-in again", "")


@dataclass(frozen=True)
class _Made:
    """The events of a request, by what becomes of them."""

    waiting: Sequence[Event]
    started: Sequence[Event]
    silent: Sequence[Event]  # done now, in no document
    untold: Sequence[Event]  # of hosts: wait together with announced ones, in no document
    queued: Sequence[Event]  # of VMs: wait until another event is done with the VM, in no document
    joined: Sequence[Event]  # were there already, and do what was asked


def outcome_of(
    before: Look,
    after: Look,
    facts: Sequence[f.Fact],
    deed: Deed,
    names: Collection[str] = (),
    joining: Collection[str] | None = None,
) -> OutcomeAnswer:
    """The answer to a request, from the facts of its command and the regions before and after.

    What merely fell due at the same moment is among ``facts``, too, and is left out. ``names`` are the VMs that the
    request may be about. Those of ``joining``, all of them where it is None, were asked for by name: an event that was
    open for them already is told.
    """
    made = _made(facts, deed, _joined(before, deed, names if joining is None else joining))
    own = {fold(name) for name in names} - _hit_by_others(before, facts)
    silent = [key for event in made.silent for key in event.vms]
    direct = [fact.vm for fact in facts if isinstance(fact, _DIRECT) and fact.vm in own]
    at_once = vm_names(before.region, list(dict.fromkeys([*silent, *direct])))
    next_time = _remedy(before.region, at_once, deed.notice) if deed.causes else ""
    return OutcomeAnswer(
        events=[
            _as_it_is(after, event)
            for event in (*made.waiting, *made.started, *(each for each in made.joined if each.announced))
        ],
        at_once=at_once,
        message=" ".join(filter(None, [_message(made, at_once, deed), *_warnings(after, made), next_time])),
    )


def _joined(before: Look, deed: Deed, names: Collection[str]) -> list[Event]:
    """Open events that already do what was asked: asking for the same again joins them instead of making others."""
    vms = [vm for name in names if (vm := before.region.vms.get(fold(name))) is not None]
    found = [joined(before.region, vm, cause) for vm in vms for cause in deed.causes]
    return list({event.id: event for event in found if event is not None}.values())


def _warnings(after: Look, made: _Made) -> list[str]:
    """Work that was ordered for a host is done; a warning tells where it opens a second update domain of a scope."""
    of_hosts = [event for event in (*made.waiting, *made.silent, *made.untold) if event.host is not None]
    opened = {event.scope: domains_open(after.region, event.scope) for event in of_hosts}
    return [
        f"Careful: work is open in update domains {', '.join(map(str, domains))} of {scope} at once."
        for scope, domains in sorted(opened.items())
        if len(domains) > 1
    ][:_WARNINGS_MOST]


def _hit_by_others(before: Look, facts: Sequence[f.Fact]) -> set[str]:
    """VMs whose events merely fell due: what happened to them is not told as this request's effect."""
    ended = [before.region.events.get(fact.event_id) for fact in facts if isinstance(fact, f.ImpactEnded)]
    return {key for event in ended if event is not None for key in event.vms}


def approved(after: Look, event_ids: Sequence[str]) -> OutcomeAnswer:
    """What became of events that were approved."""
    events = [after.region.events[key] for key in _keys(event_ids) if key in after.region.events]
    started = sum(event.phase is Phase.STARTED for event in events)
    queued = sum(event.phase is not Phase.STARTED and is_in_hand(after.region, event) for event in events)
    told = [f"{count(len(events), 'event')} approved, {started} started."]
    if queued:
        told.append(f"{count(queued, 'event')} waiting until another event is done with the VM.")
    if awaiting := len(events) - started - queued:
        told.append(f"{count(awaiting, 'event')} still waiting for others of the same work: see awaited.")
    return OutcomeAnswer(events=[event_fields(after, event) for event in events], at_once=[], message=" ".join(told))


def canceled(before: Look, after: Look, facts: Sequence[f.Fact]) -> OutcomeAnswer:
    """What was taken back. Of a host's work all events are, because they are one."""
    ids = [fact.event_id for fact in facts if isinstance(fact, f.EventCanceled)]
    found = [before.region.events[key] for key in ids if key in before.region.events]
    events = [event_fields(after, replace(event, phase=Phase.CANCELED)) for event in found if event.announced]
    return OutcomeAnswer(events=events, at_once=[], message=f"{count(len(events), 'event')} canceled.")


def _keys(event_ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(event_id.upper() for event_id in event_ids))


def _as_it_is(look: Look, event: Event) -> EventAnswer:
    return event_fields(look, look.region.events.get(event.id, event))


def _made(facts: Sequence[f.Fact], deed: Deed, there_already: Sequence[Event]) -> _Made:
    born = [fact.event for fact in facts if isinstance(fact, f.EventBornStarted)]
    scheduled = [fact.event for fact in facts if isinstance(fact, f.EventScheduled)]
    own = {event.id for event in (*born, *scheduled) if event.cause in deed.causes and not event.campaign}
    untold = [event for event in scheduled if event.id in own and not event.announced]
    return _Made(
        waiting=[event for event in scheduled if event.id in own and event.announced],
        started=[event for event in born if event.id in own and event.announced],
        silent=[event for event in born if event.id in own and not event.announced],
        untold=[event for event in untold if event.host is not None],
        queued=[event for event in untold if event.host is None],
        joined=there_already,
    )


def _message(made: _Made, at_once: Sequence[str], deed: Deed) -> str:
    told = []
    if made.waiting:
        earliest = min(event.not_before for event in made.waiting)
        told.append(f"{count(len(made.waiting), 'event')} scheduled, not before {earliest:%Y-%m-%dT%H:%M:%SZ}.")
    if made.started:
        told.append(f"{count(len(made.started), 'event')} started at once.")
    if at_once:
        who = f"{at_once[0]} was" if len(at_once) == 1 else f"{len(at_once)} VMs were"
        told.append(f"{who} {deed.done} at once, without an event{': ' if deed.why else ''}{deed.why}.")
    if made.joined:
        ids = ", ".join(event.id for event in made.joined[:_IDS_MOST])
        more = f" and {len(made.joined) - _IDS_MOST} more" if len(made.joined) > _IDS_MOST else ""
        told.append(f"Joined {'an event' if len(made.joined) == 1 else 'events'} that will do the same: {ids}{more}.")
    if made.queued:
        queued = sum(len(event.vms) for event in made.queued)
        told.append(f"{count(queued, 'VM')} to be {deed.done} when another event is done, without being told.")
    if made.untold:
        untold = sum(len(event.vms) for event in made.untold)
        told.append(f"{count(untold, 'other VM')} on the same hosts will not be told: {NOBODY_READS}.")
    return " ".join(told) or deed.nothing


def _remedy(region: Region, names: Sequence[str], notice: str = "") -> str:
    """What to type beforehand so that VMs are warned next time: a sentence about the first that can be helped.

    ``region`` is the one before it happened. ``notice`` is what a VM must have besides a reader, as its
    specification calls it.
    """
    vms = [vm for name in names if (vm := region.vms.get(fold(name))) is not None]
    helped = ((vm, commands) for vm in vms if (commands := _commands(region, vm, notice)))
    for vm, commands in helped:
        typed = " and ".join(f"'forewarn {command}'" for command in commands)
        scopes = len({each.scope for each in vms})
        others = "" if scopes == 1 else ", and the like for the other scopes"
        return f"To have {vm.name} warned, type {typed} first{others}."
    return ""


def _commands(region: Region, vm: Vm, notice: str) -> list[str]:
    reads = region.scope_of(vm).enabled_at is not None
    reading = [] if reads else [f"vm read {vm.name}"]
    if not notice or getattr(vm.spec, notice) is not None:
        return reading
    if vm.scale_set:
        return [f"vmss create {vm.scale_set} {_OPTIONS[notice]}", *reading]
    if notice == "os_image_notice":
        return []  # which the command line can give to scale sets only
    return [f"vm create {vm.name} {_OPTIONS[notice]} --read"]


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
