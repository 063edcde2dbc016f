"""What happened, in words: one event's story from its facts, and a sentence for each fact that a person may meet."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES
from forewarn.core.lifecycle import EventFact, event_after
from forewarn.core.looking.subjects import subject_of
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import PLACED, ErrandKind, MachinePower
from forewarn.core.region import Event
from forewarn.core.tokens.facts import TokenMade, TokenRevoked


def remembered(facts: Iterable[f.Fact]) -> Event | None:
    """The event as its own facts leave it, also after it has left the region; None if they tell of no event."""
    event: Event | None = None
    for fact in facts:
        if isinstance(fact, mf.ErrandFact):
            continue  # what is done to its machines does not change the event
        if not isinstance(fact, EventFact):
            return None
        if event is None and not isinstance(fact, f.EventScheduled | f.EventBornStarted):
            return None
        event = event_after(event, fact)
    return event


def tell(fact: f.Fact) -> str:
    """The fact as a sentence; its kind and subject where there is no sentence for it."""
    if isinstance(fact, EventFact):
        return tell_step(fact)
    if isinstance(fact, mf.RealFact):
        return _tell_real(fact)
    match fact:
        case f.VmCreated(name=name, host=host):
            return f"{name} was made, on host-{host}."
        case f.VmDeleted(vm=vm):
            return f"{vm} was deleted."
        case f.VmMoved(vm=vm, host=host):
            return f"{vm} moved to host-{host}."
        case f.VmSpared(vm=vm, event_id=event_id):
            return f"{vm} has left the host of [{event_id[:8]}], which will not hit it any more."
        case f.VmDeallocated(vm=vm):
            return f"{vm} was deallocated."
        case f.VmStarted(vm=vm, host=host):
            return f"{vm} was started, on host-{host}."
        case f.ScopeEnabled(scope=scope):
            return f"{scope} is enabled: from here on its events wait."
        case f.ScopeDisabled(scope=scope):
            return f"{scope} is disabled: nobody there has read for too long."
        case f.CampaignWaveBegan(wave=wave, hosts=hosts):
            return f"The campaign's turn of update domain {wave} begins, over {len(hosts)} hosts."
        case f.CampaignHostsTaken(hosts=hosts):
            return f"The campaign has taken {len(hosts)} more of its hosts."
        case f.CampaignCompleted():
            return "The campaign is completed."
        case f.InstanceUpgraded(vm=vm, model=model):
            return f"{vm} was given version {model} of its set's model."
        case TokenMade(name=name, role=role):
            return f"A token to {role.value} was made for {name}."
        case TokenRevoked(name=name):
            return f"The token of {name} was revoked."
        case f.HostMarked(host=host, health=health):
            return f"host-{host} is {health.value}."
    return f"{type(fact).__name__}: {subject_of(fact)}."


def _tell_real(fact: mf.RealFact) -> str:
    if isinstance(fact, mf.ErrandFact):
        return tell_errand(fact)
    match fact:
        case mf.HostRegistered(name=name, engine=engine):
            return f"Host {name} of engine {engine} takes part."
        case mf.HostSilent(host=host):
            return f"host-{host} is silent: nothing is placed there."
        case mf.HostBack(host=host):
            return f"host-{host} is back."
        case mf.HostFenced(host=host, by=by):
            return f"host-{host} is known to be off{f', says {by}' if by else ''}."
        case mf.HostDraining(host=host):
            return f"host-{host} is draining: nothing is placed there, and what is there is to leave."
        case mf.HostResumed(host=host):
            return f"host-{host} takes machines again."
        case mf.HostLeft(host=host):
            return f"host-{host} takes part no more."
        case mf.MachineAdopted(vm=vm, ref=ref, host=host):
            return f"{vm} is machine {ref} at {host}." if ref else f"{vm} is to get a machine at {host}."
        case mf.MachineReleased(vm=vm):
            return f"{vm} was released: its machine goes on."
        case mf.MachineSeen(vm=vm, power=MachinePower.GONE, host=host):
            return f"{vm} is not at {host}."
        case mf.MachineSeen(vm=vm, power=power, host=host):
            return f"{vm} was seen {power.value} at {host}."
        case mf.MachineDefined(vm=vm):
            return f"It is known how to make the machine of {vm} again."
        case mf.MachineCleared(vm=vm, host=host):
            return f"Nothing of {vm} is left at {host}."
        case mf.MachineDoubled(vm=vm, also=also):
            return f"{vm} runs twice, at {also} as well." if also else f"{vm} runs at one host only."
        case mf.MachineAlarmed(vm=vm, alarm=alarm):
            return f"Alarm: {vm} {alarm}." if alarm else f"{vm} is as it should be again."


def tell_errand(fact: mf.ErrandFact) -> str:
    """What is done to a machine, or to a host, as a sentence."""
    if isinstance(fact, mf.ErrandMade):
        errand = fact.errand
        to = f" to {errand.to}" if errand.to not in ("", errand.host) else ""
        return f"{_errand(errand.kind, errand.vm or errand.host)}{to} is to be done."
    what = _errand(fact.kind, fact.vm)
    match fact:
        case mf.ErrandTried():
            return f"{what} is tried."
        case mf.ErrandPlaced(to=to):
            if fact.kind not in PLACED:
                return f"{what} is tried again."
            return f"{what} is to end at {to}." if to else f"{what} waits for room."
        case mf.ErrandHindered(why=why):
            return f"{what} did not work and is tried again: {why}."
        case mf.ErrandEnded():
            return f"{what} is done."
        case mf.ErrandGivenUp(why=why):
            return f"{what} was given up: {why}."


def _errand(kind: ErrandKind, whom: str) -> str:
    return f"{kind.value.capitalize()} of {whom}" if whom else kind.value.capitalize()


def tell_step(fact: EventFact) -> str:
    """One step of an event's life, as a sentence that leaves out which event it is."""
    match fact:
        case f.EventScheduled(event=event):
            return f"{_what(event)} scheduled, not before {event.not_before:%Y-%m-%dT%H:%M:%SZ}."
        case f.EventBornStarted(event=event):
            return f"{_what(event)} started without waiting for anybody."
        case f.EventAnnounced():
            return "Announced: somebody in its scope has begun to read."
        case f.EventApproved(by=who):
            return f"Approved by {who}."
        case f.EventStarted():
            return "Started."
        case f.EventCanceled(why=why):
            return f"Canceled: {why}."
        case f.ImpactBegan(ends_at=ends_at):
            until = "" if ends_at is None else f", until {ends_at:%Y-%m-%dT%H:%M:%SZ}"
            return f"Impact began{until}."
        case f.ImpactEnded():
            return "Impact over."
        case f.EventCompleted():
            return "Completed: gone from the document."


def _what(event: Event) -> str:
    return f"{CAUSES[event.cause].type.value} of {', '.join(event.resources)} ({event.cause.value})"
