"""What is coming, as lines on an axis of time: numbers for a drawing, and the words of the table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from forewarn.core.region import Event
from forewarn.plane.read_models.register import Cohort
from forewarn.web.operator.desk import Listed
from forewarn.web.operator.routes.forecast import ForecastFact
from forewarn.web.operator.schema.fleet_answers import EventAnswer
from forewarn.web.portal.written import count

WIDTH = 100.0  # of the drawing: places are percentages, so that words keep their size on any screen
_STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080)
)
_TICKS_MOST = 8  # ours: labels must not touch on a narrow screen
_PAST_SHARE = 0.15  # ours: of the window that lies before now
LINES_MOST = 40  # ours: beyond that, groups are shown


@dataclass(frozen=True)
class AxisTick:
    x: float
    text: str


@dataclass(frozen=True)
class Window:
    """From ``begin`` to ``end``, drawn from ``left`` to ``WIDTH``."""

    begin: datetime
    end: datetime
    left: float = 0.0

    def x(self, at: datetime) -> float:
        """Where an instant stands; what is beyond an end stands at that end."""
        share = (at - self.begin) / (self.end - self.begin)
        return round(self.left + (WIDTH - self.left) * min(max(share, 0.0), 1.0), 2)

    def ticks(self) -> list[AxisTick]:
        """At round instants, few enough that their texts do not touch."""
        span = self.end - self.begin
        step = next((step for step in _STEPS if span / step <= _TICKS_MOST), _STEPS[-1])
        midnight = self.begin.replace(hour=0, minute=0, second=0, microsecond=0)
        at, found = midnight + step * -(-(self.begin - midnight) // step), list[AxisTick]()
        while at <= self.end:
            found.append(AxisTick(self.x(at), f"{at:%H:%M}" if step < timedelta(days=1) else f"{at:%m-%d}"))
            at += step
        return found


@dataclass(frozen=True)
class ComingLine:
    """One line of what is coming: an event, several that are alike, or what else will happen."""

    id: str
    text: str
    event: str  # the one event, where it is one
    phase: str
    not_before: datetime | None
    notice: tuple[float, float]
    impact: tuple[float, float] | None
    recovery: tuple[float, float] | None
    hint: str = ""  # what else there is to say
    filter: str = ""  # what the list of events is asked for, where it is several
    scope: str = ""  # whose line it is, where it is no event's


def lapses_of(window: Window, ahead: Sequence[ForecastFact]) -> list[ComingLine]:
    """Scopes that are disabled unless somebody reads: their events will not wait any more."""
    facts = [fact for fact in ahead if fact.fact == "ScopeDisabled"][:LINES_MOST]
    hint = "off after 24 h without a read"
    at = [window.x(fact.at) for fact in facts]
    return [
        ComingLine(
            f"lapse-{fact.scope}",
            fact.scope or "",
            "",
            "lapses",
            fact.at,
            (x, x),
            None,
            None,
            hint,
            scope=fact.scope or "",
        )
        for fact, x in zip(facts, at, strict=True)
    ]


def window_of(now: datetime, span: timedelta) -> Window:
    return Window(now - span * _PAST_SHARE, now + span)


def lines_of(window: Window, events: Sequence[EventAnswer], ahead: Sequence[ForecastFact]) -> list[ComingLine]:
    """One for each event; where there are very many, one for those of a type that start together."""
    shown = [event for event in events if event.scheduled_at <= window.end]
    steps: dict[str, dict[str, datetime]] = {}
    for fact in ahead:
        if fact.event is not None:
            steps.setdefault(fact.event, {})[fact.fact] = fact.at
    if len(shown) <= LINES_MOST:
        return [_line_of(window, [event], steps.get(event.id, {})) for event in shown]
    alike = groupby(sorted(shown, key=_likeness), key=_likeness)
    groups = [list(group) for _, group in alike]
    return [_line_of(window, group, steps.get(group[0].id, {})) for group in groups[:LINES_MOST]]


def lines_of_cohorts(window: Window, listed: Listed) -> list[ComingLine]:
    """One for all events of a type, or of a wave of a campaign, that have come equally far: the earliest first."""
    cohorts = [(next(iter(order)), cohort, len(order)) for cohort, order in listed.register.cohorts.items()]
    shown = sorted((each for each in cohorts if each[1].announced), key=lambda each: each[0])
    events = listed.look.region.events
    return [_line_of_cohort(window, events[first], cohort, total) for (_, first), cohort, total in shown[:LINES_MOST]]


def _line_of_cohort(window: Window, first: Event, cohort: Cohort, events: int) -> ComingLine:
    of_campaign = [f"campaign:{cohort.campaign}"] if cohort.campaign else []
    wave = f", update domain {cohort.update_domain}" if cohort.campaign else ""
    return ComingLine(
        # Its own, not that of its first event: that one goes on before the others, and the line must stay the same.
        id=f"{cohort.type.value}-{cohort.phase.value}-{cohort.campaign}-{cohort.update_domain}".lower(),
        text=f"{cohort.type.value}, {count(events, 'event')}{wave}",
        event="",
        phase=cohort.phase.value,
        not_before=first.not_before,
        notice=(window.x(first.scheduled_at), window.x(first.started_at or first.not_before)),
        impact=None,
        recovery=None,
        filter=" ".join([_alike(cohort.type.value, cohort.phase.value), *of_campaign]),
    )


def _alike(event_type: str, phase: str) -> str:
    return f"type:{event_type} phase:{phase}"


def _likeness(event: EventAnswer) -> tuple[datetime, str, str]:
    return event.not_before, event.type, event.phase


def _line_of(window: Window, events: Sequence[EventAnswer], ahead: dict[str, datetime]) -> ComingLine:
    """What has happened is known; the rest is the forecast's."""
    event = events[0]
    started = event.started_at or ahead.get("EventStarted")
    began = event.impact_began_at or ahead.get("ImpactBegan") or started
    ended = event.impact_ended_at or event.impact_ends_at or ahead.get("ImpactEnded")
    gone = ahead.get("EventCompleted")
    vms = event.vms[0] if event.vms else event.scope
    single = f"{vms} and {len(event.vms) - 1} more" if len(event.vms) > 1 else vms
    return ComingLine(
        id=event.id,
        text=f"{event.type} {single}" if len(events) == 1 else f"{event.type}, {count(len(events), 'event')}",
        event=event.id if len(events) == 1 else "",
        phase=event.phase,
        not_before=event.not_before,
        notice=(window.x(event.scheduled_at), window.x(started or event.not_before)),
        impact=None if began is None or ended is None else (window.x(began), window.x(ended)),
        recovery=None if ended is None or gone is None else (window.x(ended), window.x(gone)),
        filter="" if len(events) == 1 else _alike(event.type, event.phase),
    )
