"""What a screen shows shorter than a pipe: ids as far as they differ, instants without their year, distances alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from forewarn.cli.output import Output
from forewarn.settings.times import parse_instant, show_distance, show_moment

SHORT_ID = 8  # the first group of a GUID; two of 10,000 ids share it with a chance of 1 in 86


def ids(out: Output, shown: Iterable[str]) -> Callable[[str], str]:
    """How to show the ids of one table: 8 characters of each, or as many as tell them apart."""
    if not out.terminal:
        return str
    known = set(shown)
    longest = max(map(len, known), default=SHORT_ID)
    lengths = range(SHORT_ID, longest)
    length = next((each for each in lengths if len({full[:each] for full in known}) == len(known)), longest)
    return lambda full: full[:length]


def one_id(out: Output, full: str) -> str:
    return ids(out, [full])(full)


def moment(out: Output, text: str | None) -> str:
    """An instant in a table: ``01-31 12:00:00Z`` on a screen, ISO 8601 in a pipe."""
    return f"{parse_instant(text):%m-%d %H:%M:%SZ}" if text and out.terminal else show_moment(text)


def ahead(out: Output, text: str, now: datetime) -> str:
    """An instant that is to come: on a screen how far off it is, in a pipe when as well."""
    distance = show_distance(parse_instant(text), now)
    return distance if out.terminal else f"{show_moment(text)} ({distance})"
