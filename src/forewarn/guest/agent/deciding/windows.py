"""Maintenance windows: when an event may be approved before its NotBefore. Pure: windows and an instant in.

A window is meant in the wall time of its zone. Where clocks go forward, a window within the hour that is left out does
not open that day; where they go back, one within the hour that comes twice opens twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, tzinfo

from forewarn.guest.agent.deciding.policy import APPROVES, decide
from forewarn.guest.agent.deciding.state import AgentState, Approval
from forewarn.guest.agent.values import DAYS, AgentConfig, ApprovalWindow, Rule
from forewarn.wire.times import format_iso8601

_MINUTE = timedelta(minutes=1)  # what windows are written in
_AHEAD = timedelta(days=15)  # ours: a weekly window that a change of clocks leaves out is found again
_DAY_MINUTES = 24 * 60  # of a wall clock's day, whatever clocks do


def open_window(windows: Iterable[ApprovalWindow], now: datetime) -> ApprovalWindow | None:
    """The first of the windows that is open now."""
    return next((each for each in windows if is_open(each, now)), None)


def is_open(window: ApprovalWindow, now: datetime) -> bool:
    local = now.astimezone(zone_of(window.zone))
    minute, today = local.hour * 60 + local.minute, local.weekday()
    if window.begins < window.ends:
        return today in window.days and window.begins <= minute < window.ends
    if minute >= window.begins:
        return today in window.days
    return minute < window.ends and (today - 1) % 7 in window.days  # of a night, its second part: it began yesterday


def next_change(windows: Iterable[ApprovalWindow], now: datetime) -> datetime | None:
    """When a window opens, or where one is open, when the last of them closes; None: not within two weeks."""
    windows = tuple(windows)
    before = open_window(windows, now) is not None
    minute = now.replace(second=0, microsecond=0)
    for _ in range(_AHEAD // _MINUTE):
        minute += _MINUTE
        if (open_window(windows, minute) is not None) is not before:
            return minute
    return None


def zone_of(name: str) -> tzinfo:
    """Raises ``ValueError`` or ``LookupError`` for a zone that this machine does not know."""
    from zoneinfo import ZoneInfo  # only where there are windows

    return ZoneInfo(name)


def held_back(config: AgentConfig, own_name: str, state: AgentState, now: datetime) -> frozenset[str]:
    """The events that must not be approved now, because no window is open. What was sent before may be sent again."""
    if not config.windows or open_window(config.windows, now) is not None:
        return frozenset()
    unsent = (Approval.NONE, Approval.INTENDED)
    cares = (care for care in state.cares.values() if care.verdict in APPROVES and care.approval in unsent)
    return frozenset(care.key for care in cares if _waits(decide(config, care.event, own_name).rule))


def _waits(rule: Rule | None) -> bool:
    return rule is None or not rule.any_time


def when_words(config: AgentConfig, rule: Rule | None, now: datetime, not_before: datetime | None) -> str:
    """What windows mean for an approval by this rule, as the end of a sentence; empty where they mean nothing."""
    if not config.windows or not _waits(rule):
        return ""
    found, change = open_window(config.windows, now), next_change(config.windows, now)
    if found is not None:
        until = "" if change is None else f" until {format_iso8601(change)}"
        return f"within a maintenance window, as now: {found.name!r} is open{until}"
    if change is None:
        return "within a maintenance window, and none opens for two weeks: it starts at its NotBefore"
    opens = open_window(config.windows, change)
    name = "the next one" if opens is None else repr(opens.name)
    if not_before is not None and change >= not_before:
        late = f"{name} opens at {format_iso8601(change)}, after its NotBefore"
        return f"within a maintenance window, and {late}: it starts without an approval"
    return f"within a maintenance window, and none is open: {name} opens at {format_iso8601(change)}"


def window_words(window: ApprovalWindow) -> str:
    """A window for a person: ``'nights', Sat Sun 22:00 to 04:00 Europe/Berlin``."""
    days = "every day" if len(window.days) == 7 else " ".join(DAYS[day].capitalize() for day in sorted(window.days))
    return f"{window.name!r}, {days} {_clock(window.begins)} to {_clock(window.ends)} {window.zone}"


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def minute_of(text: str) -> int | None:
    """``22:30`` as minutes of a day, ``24:00`` its end; None for anything else."""
    hour, colon, minute = text.partition(":")
    if not colon or len(hour) != 2 or len(minute) != 2 or not (hour + minute).isdecimal() or not text.isascii():
        return None
    found = int(hour) * 60 + int(minute)
    return found if int(minute) < 60 and found <= _DAY_MINUTES else None
