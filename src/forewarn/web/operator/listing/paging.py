"""Lists in pages. A cursor is the sort key of the last item, so that a page stays right whatever happens between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from typing import Generic, TypeVar

from forewarn.core.refusal import Hint, Refused
from forewarn.web.operator.schema.requests import Page

T = TypeVar("T")

LOOK_MOST = 20_000  # things that are looked at for one page: some ten milliseconds


def page_of(items: Iterable[T], key: Callable[[T], str], wanted: Page) -> tuple[list[T], str | None]:
    """One page of a few items in the order of ``key``, and where the next begins. Looks at all of them."""
    rest = (item for item in items if key(item) > wanted.after) if wanted.after else items
    found = nsmallest(wanted.limit + 1, rest, key=key)
    if len(found) <= wanted.limit:
        return found, None
    del found[wanted.limit :]
    return found, key(found[-1])


@dataclass(frozen=True)
class Chosen(Generic[T]):
    """A page of things that were chosen from many, of which it looked at so many. It may be short, and go on."""

    things: list[T]
    next: str | None
    looked_at: int


def choose(
    ordered: Iterator[T], wanted: Callable[[T], bool], key: Callable[[T], str], limit: int, most: int = LOOK_MOST
) -> Chosen[T]:
    """The first ``limit`` that are wanted, from things in the order of ``key`` that begin after the last page."""
    found: list[T] = []
    looked_at, last = 0, ""
    for thing in ordered:
        if looked_at >= most:
            return Chosen(found, last, looked_at)
        looked_at += 1
        if not wanted(thing):
            last = key(thing)
        elif len(found) == limit:
            return Chosen(found, last, looked_at - 1)
        else:
            found.append(thing)
            last = key(thing)
    return Chosen(found, None, looked_at)


def instant_key(at: datetime, name: str) -> str:
    """A sort key by time: fixed width, so that text sorts as instants do."""
    return f"{at:%Y-%m-%dT%H:%M:%S.%fZ}/{name}"


def instant_of(key: str) -> tuple[datetime, str]:
    """What such a key was made of."""
    at, _, name = key.partition("/")
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise Refused(Hint.INVALID, "The query parameter 'after' is the 'next' of the page before, as it was given.")
    return found, name
