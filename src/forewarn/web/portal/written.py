"""How values are written on a page: text from outside with nothing hidden in it, instants, durations, numbers."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup

_INSTANT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_THIN = "\N{NARROW NO-BREAK SPACE}"  # between thousands; a space like any other, for whoever else writes one
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def shown(value: Any) -> Any:
    """Every value that a template writes passes here. What does not print, or turns the reading direction, is named.

    Markup is what templates have made themselves.
    """
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str) or value.isprintable():
        return value
    return "".join(letter if letter.isprintable() or letter == _THIN else f"⟨U+{ord(letter):04X}⟩" for letter in value)


def iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


def clock_text(at: datetime, now: datetime) -> str:
    """In region time, with the day where it is another one."""
    return f"{at:%H:%M:%S} UTC" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def told(text: str, now: datetime) -> str:
    """A sentence of the journal or the API, with its instants written as the pages write them."""
    return _INSTANT.sub(lambda found: clock_text(datetime.fromisoformat(found[0]), now), text)


def relative(at: datetime, now: datetime) -> str:
    """How far away: ``in 11:19``, ``3:05 ago``, ``in 2 d 4 h``."""
    seconds = round((at - now).total_seconds())
    text = _span(abs(seconds))
    return f"in {text}" if seconds >= 0 else f"{text} ago"


def _span(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    if days:
        return f"{days} d {hours} h"
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(value: timedelta | float | None) -> str:
    """``15 min``, ``1 h 30 min``, ``45 s``."""
    if value is None:
        return "none"
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if seconds % 1 or seconds < 60:
        return f"{seconds:g} s"
    told, rest = [], int(seconds)
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            told.append(f"{count} {unit}")
    return " ".join([*told, f"{rest} s"] if rest else told)


def number(value: int) -> str:
    """With thin spaces between thousands, which no language reads as a decimal point."""
    return _THIN.join(f"{value:,}".split(","))


def count(value: int, what: str) -> str:
    return f"{number(value)} {what}" if value == 1 else f"{number(value)} {what}s"
