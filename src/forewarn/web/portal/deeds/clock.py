"""Turning the clock. There is no dry run of that: what would happen on the way is what the forecast tells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from forewarn.core.refusal import Hint, Refused
from forewarn.web.operator.desk import Asker, Desk, DryRun
from forewarn.web.operator.live.changes import clock_fields
from forewarn.web.operator.routes import clock
from forewarn.web.operator.routes.forecast import ForecastQuery
from forewarn.web.operator.routes.forecast import show as forecast
from forewarn.web.operator.schema.requests import AdvanceBody, InstantBody, SpeedBody
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed, body_of
from forewarn.web.portal.doors.twins import ApiCall, cannot, forewarn
from forewarn.web.portal.forms import Filled, FormField
from forewarn.web.portal.written import clock_text, count, duration

_MINUTES = (
    FormField("minutes", "Minutes", "minutes", "seconds", "How far to go; 0.5 is half a minute.", required=True),
)
_INSTANT = (FormField("instant", "To", hint="An instant of the region, like 2026-01-01T12:15:00Z.", required=True),)
_SPEED = (
    FormField(
        "speed", "Region seconds in a second", "decimal", default="60", required=True, longest=9, hint="0 stands still."
    ),
)
_TOLD_MOST = 5  # what a person reads before a confirmation
_REAL = "A real clock cannot be turned; 'forewarn serve --clock virtual' has one that can."
_CANNOT = tuple(cannot(door, "No clock of Azure can be turned.") for door in ("az", "PowerShell"))


async def _next(filled: Filled, asker: Asker, desk: Desk) -> Any:
    if not isinstance(asker, DryRun):
        return await clock.advance_to_next(asker)
    to = clock_fields(asker.plane).next_deadline
    return await _foretold(asker, desk, to) if to is not None else Outlook("Nothing is due: the clock stays.")


async def _advance(filled: Filled, asker: Asker, desk: Desk) -> Any:
    body: AdvanceBody = filled.body(AdvanceBody)
    if not isinstance(asker, DryRun):
        return await clock.advance(body, asker)
    try:
        to = asker.look().now + timedelta(seconds=body.seconds)
    except OverflowError:
        raise Refused(Hint.INVALID, "The calendar ends before that.") from None
    return await _foretold(asker, desk, to)


async def _to(filled: Filled, asker: Asker, desk: Desk) -> Any:
    body: InstantBody = filled.body(InstantBody)
    if not isinstance(asker, DryRun):
        return await clock.advance_to(body, asker)
    try:
        return await _foretold(asker, desk, body.instant.astimezone(UTC))
    except OverflowError:
        raise Refused(Hint.INVALID, "The calendar ends before that.") from None


async def _speed(filled: Filled, asker: Asker, desk: Desk) -> Any:
    body: SpeedBody = filled.body(SpeedBody)
    if not isinstance(asker, DryRun):
        return await clock.set_speed(body, asker.plane, desk)
    if clock_fields(asker.plane).kind == "real":
        raise Refused(Hint.CONFLICT, _REAL)
    if not body.speed:
        return Outlook("The clock will stand still.")
    return Outlook(f"The clock will run at x{body.speed:g}: {duration(body.speed)} of the region in each second.")


async def _foretold(asker: Asker, desk: Desk, to: datetime) -> Outlook:
    look = asker.look()
    if clock_fields(asker.plane).kind == "real":
        raise Refused(Hint.CONFLICT, _REAL)
    told = await forecast(ForecastQuery.model_validate({"until": to.isoformat()}), desk, look)
    lines = [f"{clock_text(fact.at, look.now)}: {_words(fact.vms, fact.scope)}{fact.text}" for fact in told.facts]
    more = f" And {len(lines) - _TOLD_MOST} more." if len(lines) > _TOLD_MOST else ""
    on_the_way = f"On the way {count(len(lines), 'thing')} will happen. {' '.join(lines[:_TOLD_MOST])}{more}"
    return Outlook(
        f"The clock will go to {clock_text(to, look.now)}. {on_the_way if lines else 'Nothing is due until then.'}"
    )


def _words(vms: list[str], scope: str | None) -> str:
    about = vms[0] if vms else scope or ""
    return f"{about}: " if about else ""


def _as_it_is(answer: Any) -> Outlook:
    assert isinstance(answer, Outlook)
    return answer


DEEDS = (
    PortalDeed(
        key="clock-next",
        title="Next",
        question=lambda filled: "Turn the clock to the next change?",
        fields=(),
        do=_next,
        tell=_as_it_is,
        call=lambda filled: ApiCall("POST", "/v1/clock/next", {}),
        twins=lambda filled, region: (forewarn(["clock", "next"]), *_CANNOT),
        hint="To the instant at which something next happens by itself.",
    ),
    PortalDeed(
        key="clock-advance",
        title="Go on",
        question=lambda filled: f"Turn the clock on by {filled.typed('minutes')} minutes?",
        fields=_MINUTES,
        do=_advance,
        tell=_as_it_is,
        call=lambda filled: ApiCall("POST", "/v1/clock/advance", body_of(filled, AdvanceBody)),
        twins=lambda filled, region: (forewarn(["clock", "advance", f"{filled.values['seconds']:g}s"]), *_CANNOT),
        hint="Everything that falls due on the way happens, at its own instant.",
    ),
    PortalDeed(
        key="clock-to",
        title="Go there",
        question=lambda filled: f"Turn the clock to {filled.typed('instant')}?",
        fields=_INSTANT,
        do=_to,
        tell=_as_it_is,
        call=lambda filled: ApiCall("POST", "/v1/clock/to", body_of(filled, InstantBody)),
        twins=lambda filled, region: (forewarn(["clock", "to", filled.typed("instant").strip()]), *_CANNOT),
        hint="To an instant; everything that falls due on the way happens.",
    ),
    PortalDeed(
        key="clock-speed",
        title="Set speed",
        question=lambda filled: "Let time pass faster or slower?",
        fields=_SPEED,
        do=_speed,
        tell=_as_it_is,
        call=lambda filled: ApiCall("POST", "/v1/clock/speed", body_of(filled, SpeedBody)),
        twins=lambda filled, region: (forewarn(["clock", "speed", f"{filled.values['speed']:g}"]), *_CANNOT),
        unwritten="The clock has another speed.",
        hint="How many seconds of the region pass in one second; 0 stands still.",
    ),
)
