"""Lists in pages. A cursor is the sort key of the last item, so that a page stays right whatever happens between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from heapq import nsmallest
from typing import TypeVar

from forewarn.web.operator.schema.requests import Page

T = TypeVar("T")


def page_of(items: Iterable[T], key: Callable[[T], str], wanted: Page) -> tuple[list[T], str | None]:
    """One page in the order of ``key``, and where the next begins. Looks at each item once, and sorts only the page."""
    rest = (item for item in items if key(item) > wanted.after) if wanted.after else items
    found = nsmallest(wanted.limit + 1, rest, key=key)
    if len(found) <= wanted.limit:
        return found, None
    del found[wanted.limit :]
    return found, key(found[-1])


def instant_key(at: datetime, name: str) -> str:
    """A sort key by time: fixed width, so that text sorts as instants do."""
    return f"{at:%Y-%m-%dT%H:%M:%S.%fZ}/{name}"
