"""Instants and durations as text. Nothing here knows a locale: the names of days and months are our own tables.

Instants are aware UTC inside the house. A writer is strict; a reader takes what the service, its documentation and
its mock server have been seen to send, wrong weekdays included.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from forewarn.wire.json_bytes import WireError

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_NUMBERS = {name.lower(): number for number, name in enumerate(_MONTHS, start=1)}

_RFC1123 = re.compile(
    r"(?:[a-z]{3,9},\s*)?(\d{1,2})\s+([a-z]{3})\s+(\d{4})\s+(\d{2}):(\d{2}):(\d{2})\s+(?:GMT|UTC|UT|Z|[+-]0000)",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = r"(\d{1,12}(?:[.,]\d{1,9})?)"
_ISO_DURATION = re.compile(
    rf"P(?=[\dT])(?:0{{1,12}}Y)?(?:0{{1,12}}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.ASCII | re.IGNORECASE,
)
_HUMAN_DURATION = re.compile(
    rf"(?:{_NUMBER}w\s*)?(?:{_NUMBER}d\s*)?(?:{_NUMBER}h\s*)?(?:{_NUMBER}m\s*)?(?:{_NUMBER}s)?",
    re.ASCII | re.IGNORECASE,
)
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")


def format_rfc1123(at: datetime) -> str:
    """``Mon, 17 Apr 2017 18:40:06 GMT``: what the service has always sent. A fraction of a second is dropped."""
    at = _utc(at)
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day}, {at.day:02} {month} {at.year:04} {at.hour:02}:{at.minute:02}:{at.second:02} GMT"


def format_iso8601(at: datetime) -> str:
    """``2017-04-17T18:40:06Z``, with a fraction only where there is one."""
    return _utc(at).replace(tzinfo=None).isoformat() + "Z"


def parse_instant(text: str) -> datetime | None:
    """RFC 1123 or ISO 8601 to aware UTC; None for blank text, which is how a started event says its NotBefore."""
    text = text.strip()
    if not text:
        return None
    try:
        return _parse_rfc1123(text) or _parse_iso8601(text)
    except (ValueError, OverflowError):
        raise WireError(f"{_quote(text)} is neither an RFC 1123 nor an ISO 8601 instant.") from None


def format_iso_duration(duration: timedelta) -> str:
    """The shortest usual spelling: ``PT5M``, ``PT1H30M``, ``P7D``, ``PT0S``."""
    days, clock = _parts(duration, "D", "H", "M", "S")
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"


def parse_iso_duration(text: str) -> timedelta:
    """Any spelling of an ISO 8601 duration of fixed length: ``PT5M``, ``PT300S``, ``P0DT5M``, ``P1W``."""
    found = _ISO_DURATION.fullmatch(text.strip())
    if found is None:
        raise WireError(f"{_quote(text)} is not an ISO 8601 duration such as PT5M, without years and months.")
    return _sum(found, text)


def format_duration(duration: timedelta) -> str:
    """The spelling people use: ``15m``, ``1h30m``, ``7d``, ``0s``."""
    return "".join(_parts(duration, "d", "h", "m", "s")) or "0s"


def parse_duration(text: str) -> timedelta:
    """What people write: ``15m``, ``90s``, ``1h30m``, ``7d``, ``0``, or an ISO 8601 duration."""
    bare = text.strip()
    if bare[:1] in ("P", "p"):
        return parse_iso_duration(bare)
    if bare == "0":
        return timedelta(0)
    found = _HUMAN_DURATION.fullmatch(bare)
    if found is None or not bare:
        raise WireError(f"{_quote(text)} is not a duration; write it like 15m, 90s, 1h30m, 7d or PT15M.")
    return _sum(found, text)


def _utc(at: datetime) -> datetime:
    assert at.tzinfo is not None, "instants are aware"
    return at.astimezone(UTC)


def _parse_rfc1123(text: str) -> datetime | None:
    """The weekday is not looked at: Microsoft's own examples carry wrong ones."""
    found = _RFC1123.fullmatch(text)
    month = _MONTH_NUMBERS.get(found[2].lower()) if found else None
    if found is None or month is None:
        return None
    return datetime(int(found[3]), month, int(found[1]), int(found[4]), int(found[5]), int(found[6]), tzinfo=UTC)


def _parse_iso8601(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _parts(duration: timedelta, day: str, hour: str, minute: str, second: str) -> tuple[str, str]:
    """The days and the rest, each number with its unit, zeros left out."""
    assert duration >= timedelta(0), "durations do not run backwards"
    minutes, seconds = divmod(duration.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{duration.microseconds:06}".rstrip("0.")
    clock = f"{hours}{hour}" if hours else ""
    clock += f"{minutes}{minute}" if minutes else ""
    clock += f"{seconds}{fraction}{second}" if seconds or fraction else ""
    return f"{duration.days}{day}" if duration.days else "", clock


def _sum(found: re.Match[str], text: str) -> timedelta:
    """Weeks to seconds, in the order of the groups."""
    numbers = (float((group or "0").replace(",", ".")) for group in found.groups())
    try:
        return sum((timedelta(**{unit: number}) for unit, number in zip(_UNITS, numbers, strict=True)), timedelta(0))
    except OverflowError:
        raise WireError(f"{_quote(text)} is too long a duration.") from None


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
