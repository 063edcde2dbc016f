"""Durations and instants as people write and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SPELLINGS = {
    "d": ("days", "day", "d"),
    "h": ("hours", "hour", "hrs", "hr", "h"),
    "ms": ("ms",),
    "m": ("minutes", "minute", "mins", "min", "m"),
    "s": ("seconds", "second", "secs", "sec", "s"),
}
_UNIT_OF = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_PART = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(_UNIT_OF)})", re.ASCII)
_PLAIN = re.compile(rf"{_PART.pattern}(?:{_PART.pattern})*", re.ASCII)
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)
_LONGEST = timedelta(days=3660)  # ten years: more than any notice, and a sum with it is still a date


def parse_duration(text: str) -> timedelta:
    """``15m``, ``15min``, ``1h30m``, ``7days``, ``0`` or ISO 8601 ``PT15M``. A bare number could mean anything."""
    seconds = _seconds(text.strip())
    if seconds is None and _seconds(text.strip().removeprefix("-")) is not None:
        raise ValueError(f"{text!r} lies in the past, and time only goes forward")
    if seconds is None:
        raise ValueError(f"{text!r} is not a duration; write it as 15m, 90s, 2h, 7d or PT15M")
    if seconds > _LONGEST.total_seconds():
        raise ValueError(f"{text!r} is longer than ten years")
    return timedelta(seconds=seconds)


def _seconds(text: str) -> float | None:
    if text == "0":
        return 0.0
    if _PLAIN.fullmatch(text):
        return sum(float(number) * _UNITS[_UNIT_OF[unit]] for number, unit in _PART.findall(text))
    found = _ISO.fullmatch(text.upper())
    if found is None or not any(found.groups()):
        return None
    return sum(float(part or 0) * size for part, size in zip(found.groups(), _UNITS.values(), strict=False))


def show_duration(value: timedelta) -> str:
    """The shortest spelling that ``parse_duration`` reads back as the same."""
    whole, fraction = divmod(value, timedelta(seconds=1))
    parts = []
    for unit in ("d", "h", "m"):
        count, whole = divmod(whole, int(_UNITS[unit]))
        parts.append(f"{count}{unit}" if count else "")
    if whole or fraction or not any(parts):
        parts.append(f"{whole + fraction.total_seconds():g}s")
    return "".join(parts)


def parse_instant(text: str) -> datetime:
    """An ISO 8601 instant; without an offset it is UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not an instant; write it as 2030-01-31T12:00:00Z") from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def show_instant(value: datetime) -> str:
    """ISO 8601 with ``Z``; fractions of a second only where there are some."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def show_moment(text: str | None) -> str:
    """An instant of the API to the second, which is all that a table has room for."""
    return "" if not text else show_instant(parse_instant(text).replace(microsecond=0))


def show_distance(when: datetime, now: datetime) -> str:
    """How far off an instant is, in the words of a person: ``in 15 min``, ``2 h ago``, ``now``."""
    gap = when - now
    rounded = round(abs(gap).total_seconds())
    if rounded == 0:
        return "now"
    words = _words(rounded)
    return f"in {words}" if gap > timedelta(0) else f"{words} ago"


def _words(seconds: int) -> str:
    """The two largest units, the second only where it says something."""
    sizes = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    counts = []
    for size, unit in sizes:
        count, seconds = divmod(seconds, size)
        counts.append((count, unit))
    first = next(index for index, (count, _) in enumerate(counts) if count)
    return " ".join(f"{count} {unit}" for count, unit in counts[first : first + 2] if count)
