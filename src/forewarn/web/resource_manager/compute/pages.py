"""Lists in pages: a cursor in ``nextLink`` is the sort key of the last item, so nothing is shown twice or left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nsmallest
from typing import TypeVar
from urllib.parse import quote, urlencode

from forewarn.web.resource_manager.call import ArmReply, Call
from forewarn.web.resource_manager.compute.schema import Object

PAGE = 100  # ours: Azure's own pages differ by service, and clients follow nextLink
_CURSOR = "$skiptoken"

T = TypeVar("T")


def page(call: Call, items: Iterable[T], key: Callable[[T], str], view: Callable[[T], Object]) -> ArmReply:
    """One page in the order of ``key``. Each item is looked at once; only those on the page are sorted and shown."""
    after = call.query.get(_CURSOR, "")
    found = nsmallest(PAGE + 1, (item for item in items if key(item) > after), key=key)
    body: Object = {"value": [view(item) for item in found[:PAGE]]}
    if len(found) > PAGE:
        query = urlencode({**call.query, _CURSOR: key(found[PAGE - 1])}, safe="$,")
        body["nextLink"] = f"{call.base_url}{quote(call.path)}?{query}"
    return ArmReply(200, body)
