"""Which work may come to be, and what must be said of it from the first moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from forewarn.core.facts import EventBornStarted, EventScheduled
from forewarn.sim.oracle.memory import Audience, Memory, OracleEvent, OracleVm
from forewarn.sim.oracle.tables import KINDS, MAINTENANCE, USER_OPERATIONS, OracleSettings

_SECOND = timedelta(seconds=1)


def born(memory: Memory, settings: OracleSettings, fact: EventScheduled | EventBornStarted) -> OracleEvent:
    """The work that a fact begins, by what the oracle knows of the VMs that it names."""
    event = fact.event
    cause = str(event.cause.value)
    named = sorted((memory.machines[key] for key in event.vms), key=lambda each: (each.number, each.key))
    shown = _is_shown(memory.audience(event.scope), cause, named)
    started = isinstance(fact, EventBornStarted)
    return OracleEvent(
        id=event.id,
        cause=cause,
        scope=event.scope,
        victims=[each.key for each in named],
        labels=[each.label for each in named],
        born_at=fact.at,
        shown_at=fact.at,
        not_before=event.not_before,
        recovery=settings.recovery(cause) if shown else timedelta(0),
        duration=settings.duration(cause),
        host=event.host,
        campaign=event.campaign,
        update_domain=named[0].update_domain,
        batch=_batch(memory, fact, named),
        shown=shown,
        started_at=fact.at if started else None,
    )


def _is_shown(audience: Audience, cause: str, named: list[OracleVm]) -> bool:
    """A scope that reads is told of everything but a reimage without an OS image notice."""
    silent = cause == "reimage" and named[0].image_notice is None
    return audience.reading and not silent


def _batch(memory: Memory, fact: EventScheduled | EventBornStarted, named: list[OracleVm]) -> str:
    """A host is worked on once, for all who live there; deletions of one scale set wait for each other.

    One work on a host has one event for each scope. A second one at the same instant was ordered once more.
    """
    event, cause = fact.event, str(fact.event.cause.value)
    if event.host is not None:
        work = f"host {event.host} {cause} {event.campaign} {fact.at.isoformat()}"
        before = [each for each in memory.works.values() if each.scope == event.scope and each.batch.startswith(work)]
        return f"{work} {len(before)}"
    if cause == "deletion" and named[0].scale_set:
        return f"scale set {named[0].scale_set}"
    return event.id


def wrong_births(
    memory: Memory, settings: OracleSettings, fact: EventScheduled | EventBornStarted, work: OracleEvent
) -> Iterator[str]:
    """What is wrong with a fact that begins ``work``, before that is remembered."""
    event = fact.event
    if work.id in memory.used:
        yield f"the id {work.id} is used a second time"
    if {memory.machines[key].scope for key in work.victims} != {work.scope}:
        yield f"{work.id} names VMs of another scope than {work.scope}"
    if len({memory.machines[key].update_domain for key in work.victims}) != 1:
        yield f"{work.id} names VMs of several update domains"
    if event.duration_seconds != work.duration:
        yield f"{work.id} ({work.cause}) announces {event.duration_seconds} s, the table says {work.duration}"
    if event.recovery != work.recovery:
        yield f"{work.id} ({work.cause}) recovers for {event.recovery}, the table says {work.recovery}"
    if isinstance(fact, EventScheduled):
        yield from _wrong_notice(memory, settings, fact, work)
    elif not _may_be_born_started(memory, work):
        yield f"{work.id} ({work.cause}) began without a notice, and somebody reads"
    if work.cause in MAINTENANCE and work.host is not None:
        yield from _wrong_tenants(memory, work)
    if work.campaign:
        yield from _wrong_turn(memory, work)


def _wrong_notice(memory: Memory, settings: OracleSettings, fact: EventScheduled, work: OracleEvent) -> Iterator[str]:
    first = memory.machines[work.victims[0]]
    notice = settings.notice(work.cause)
    if notice is None:
        notice = first.terminate_notice if work.cause == "deletion" else first.image_notice
    if notice is None or not (work.shown or work.cause in MAINTENANCE):
        return
    given = work.not_before - fact.at
    if not notice <= given < notice + _SECOND or work.not_before.microsecond:
        yield f"{work.id} ({work.cause}) gives a notice of {given}, the table says {notice}, in whole seconds"


def _may_be_born_started(memory: Memory, work: OracleEvent) -> bool:
    audience = memory.audience(work.scope)
    if work.cause == "failure":
        return True
    if work.cause in MAINTENANCE and work.host is not None:
        tenants = {each.scope for each in memory.machines.values() if each.host == work.host}
        return not any(memory.audience(key).reading for key in tenants)
    if work.cause in USER_OPERATIONS and audience.reading:
        return audience.auto_reboot if KINDS[work.cause].type == "Reboot" else audience.auto_redeploy
    return not work.shown


def _wrong_tenants(memory: Memory, work: OracleEvent) -> Iterator[str]:
    """The smallest set that can be acted on: all VMs of the scope on that host, and no others."""
    there = {key for key, each in memory.machines.items() if each.host == work.host and each.scope == work.scope}
    if there != set(work.victims):
        yield f"{work.id} is about {sorted(work.victims)}, and of {work.scope} host {work.host} has {sorted(there)}"


def _wrong_turn(memory: Memory, work: OracleEvent) -> Iterator[str]:
    """Campaigns: one update domain of a scope at a time, and so many hosts at once."""
    turn = memory.turns[work.campaign]
    if not turn.running:
        yield f"{work.id} is of campaign {work.campaign}, which does not run"
    mine = [each for each in memory.works.values() if each.campaign == work.campaign]
    if turn.at_once and len({each.host for each in mine} | {work.host}) > turn.at_once:
        yield f"campaign {work.campaign} works on more than {turn.at_once} hosts at once"
    for each in memory.works.values():
        if each.host is None:
            continue
        if each.campaign != work.campaign and set(each.victims) & set(work.victims):
            yield f"{work.id} of campaign {work.campaign} comes to VMs that {each.id} of a host is about"
        if each.update_domain == work.update_domain:
            continue
        if each.campaign == work.campaign or (each.scope == work.scope and not work.scope.startswith("vm/")):
            yield (
                f"{work.id} opens update domain {work.update_domain} of {work.scope}, "
                f"and {each.id} has domain {each.update_domain} of {each.scope} open"
            )
