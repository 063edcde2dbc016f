"""The forecast: what will happen if nobody acts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Query
from pydantic import Field

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES
from forewarn.core.forecast import Foreseen
from forewarn.core.looking.lookup import scope_named, vm_named
from forewarn.core.looking.story import tell
from forewarn.core.refusal import Hint, Refused, no_event
from forewarn.core.region import Region
from forewarn.plane.forecasting import FACTS_MOST, LONGEST, Forecast, Wanted
from forewarn.web.operator.desk import Look, TheDesk, TheLook
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import Answer
from forewarn.web.operator.schema.requests import Body, Instant
from forewarn.web.operator.telling.views import host_name, vm_names

router = routes_below("/v1/forecast", "forecast")

_A_DAY = timedelta(days=1)
_VMS_SHOWN = 20  # a line of a list; the number of all stands beside them
_NOON = "2026-01-01T12:00:00Z"
_GUID = "4CAEA225-A741-474D-A72E-428C86FCD853"


class ForecastQuery(Body):
    """How far to look, and at what."""

    until: Instant | None = Field(
        None,
        description=f"How far to look, {LONGEST.days} days at most; a day if left out.",
        examples=["2026-01-02T12:00:00Z"],
    )
    event: str = Field("", max_length=64, description="Only what becomes of this event.", examples=[_GUID])
    scope: str = Field(
        "", max_length=512, description="Only of this scope and its events.", examples=["availability-set/front"]
    )
    vm: str = Field("", max_length=256, description="Only of this VM and the events that name it.", examples=["web-0"])


class ForecastFact(Answer):
    """Something that will happen, unless somebody acts before."""

    at: datetime = Field(description="When, in the time of the region.", examples=["2026-01-01T12:15:00Z"])
    fact: str = Field(description="What will happen, as the journal will call it.", examples=["EventStarted"])
    text: str = Field(description="The same as a sentence.", examples=["Started."])
    event: str | None = Field(description="The event that it is about; null if it is about none.", examples=[_GUID])
    type: str | None = Field(description="What that event does to its VMs.", examples=["Reboot"])
    announced: bool | None = Field(description="Whether a document tells of that event.", examples=[True])
    scope: str | None = Field(description="Whose document it is, or which scope this is about.", examples=["vm/web-0"])
    vms: list[str] = Field(description=f"Whom it is about, {_VMS_SHOWN} of them at most.", examples=[["web-0"]])
    vms_total: int = Field(description="How many these are.", examples=[1])
    host: str | None = Field(description="The host whose work that event is; null for none.", examples=["host-0"])
    campaign: str | None = Field(description="The campaign that it belongs to; null for none.", examples=[_GUID])
    estimated: bool = Field(
        description="Whether its instant rests on an estimate of how long a machine takes.", examples=[False]
    )


class ForecastAnswer(Answer):
    """What will happen if nobody acts: nobody approves, cancels, orders or reads."""

    now: datetime = Field(description="The time of the region, from which it looks ahead.", examples=[_NOON])
    until: datetime = Field(description="How far it was asked to look.", examples=["2026-01-02T12:00:00Z"])
    seq: int = Field(description="The last record of the journal that it rests on.", examples=[57])
    facts: list[ForecastFact] = Field(description=f"In their order, {FACTS_MOST} at most.")
    cut_at: datetime | None = Field(
        description="From this instant on not all is told; null where all is told.", examples=["2026-01-01T18:00:00Z"]
    )


@router.get("", summary="Tell what will happen if nobody acts")
async def show(query: Annotated[ForecastQuery, Query()], desk: TheDesk, look: TheLook) -> ForecastAnswer:
    """Deadlines, starts, impacts and their ends, lapsing scopes, the waves of campaigns: each with its instant.

    A copy of the region is ticked from deadline to deadline; impacts last as long as this server's settings say. Moving
    a virtual clock makes just these things happen.
    """
    until = look.now + _A_DAY if query.until is None else _in_utc(query.until)
    if until < look.now:
        raise Refused(Hint.INVALID, f"It is {look.now:%Y-%m-%dT%H:%M:%SZ} already; the journal tells what was before.")
    wanted, event = _wanted(look.region, query), query.event.upper()
    found = await desk.plane.forecasts.look(look.region, look.seq, look.now, until, wanted, event)
    return _fields(look, until, found)


def _in_utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise Refused(Hint.INVALID, "The calendar ends before that.") from None


def _wanted(region: Region, query: ForecastQuery) -> Wanted:
    """What the question is about. An event, scope or VM that is not there is refused."""
    event = query.event.upper()
    if event and event not in region.events:
        raise no_event(f"There is no event {event} here, or it has ended.", event)
    scope = scope_named(region, query.scope).key if query.scope else ""
    vm = vm_named(region, query.vm).key if query.vm else ""
    own_scope = region.vms[vm].scope if vm else ""

    def wanted(seen: Foreseen) -> bool:
        return (
            (not event or (seen.event is not None and seen.event.id == event))
            and (not scope or scope_of(seen) == scope)
            and (not vm or vm in vms_of(seen) or (seen.event is None and scope_of(seen) == own_scope))
        )

    return wanted


def scope_of(seen: Foreseen) -> str | None:
    """Whose document it is about."""
    if seen.event is not None:
        return seen.event.scope
    return seen.fact.scope if isinstance(seen.fact, f.ScopeDisabled | f.ScopeEnabled | f.ScopeRemoved) else None


def vms_of(seen: Foreseen) -> tuple[str, ...]:
    """The keys of the VMs that it is about: one that something happens to, or all of an event."""
    if isinstance(seen.fact, f.VmMoved | f.VmDeallocated | f.VmDeleted | f.VmSpared | f.InstanceUpgraded):
        return (seen.fact.vm,)
    return () if seen.event is None else seen.event.vms


def _fields(look: Look, until: datetime, found: Forecast) -> ForecastAnswer:
    facts = [_fact_fields(look.region, each) for each in found.facts]
    return ForecastAnswer(now=look.now, until=until, seq=look.seq, facts=facts, cut_at=found.cut_at)


def _fact_fields(region: Region, seen: Foreseen) -> ForecastFact:
    fact, event, vms = seen.fact, seen.event, vms_of(seen)
    campaign = getattr(fact, "campaign_id", "") if event is None else event.campaign
    return ForecastFact(
        at=fact.at,
        fact=type(fact).__name__,
        text=tell(fact),
        event=None if event is None else event.id,
        type=None if event is None else CAUSES[event.cause].type.value,
        announced=None if event is None else event.announced,
        scope=scope_of(seen),
        vms=vm_names(region, vms[:_VMS_SHOWN]),
        vms_total=len(vms),
        host=None if event is None else host_name(region, event.host),
        campaign=campaign or None,
        estimated=seen.estimated,
    )
