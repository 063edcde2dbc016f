"""The region as a whole: its counts, its hosts at a glance, and finding anything in it."""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from itertools import islice
from typing import Annotated

from fastapi import Header, Query, Response

from forewarn.web.operator.desk import TheListed, ThePlane, list_of
from forewarn.web.operator.listing.counts import fleet_fields, fleet_not_ready
from forewarn.web.operator.listing.search import exactly, search
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.counts import FleetAnswer, SearchAnswer
from forewarn.web.operator.schema.listing import SearchQuery

router = routes_below("/v1", "fleet")

_PATIENCE_SECONDS = 0.2  # ours: for counts that are made for the first time; then it is said how far they are


@router.get("/fleet", summary="Count the fleet")
async def count(plane: ThePlane) -> FleetAnswer:
    """How many VMs, hosts and events there are of what, at one moment. Costs the same whatever the region's size.

    The first who asks lets them be counted, which takes seconds for a million VMs: until then `ready` is false.
    """
    listed = await list_of(plane, _PATIENCE_SECONDS)
    if listed is None:
        return fleet_not_ready(plane.region, plane.seq, plane.read_models.share)
    return fleet_fields(listed)


@router.get(
    "/fleet/hosts",
    summary="Show all hosts at a glance",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "A byte for each host, by number."}},
)
async def hosts(
    listed: TheListed, if_none_match: Annotated[str, Header(description="The last ETag.")] = ""
) -> Response:
    """One byte for each host, by number, with an `ETag`.

    The two lowest bits are its health (0 healthy, 1 failing, 2 failed or fenced, 3 silent), the next is 1 where work is
    open that has not ended (also while it is drained), and the upper five tell how many of its VMs do not run (31 is
    that many or more).
    """
    told = listed.census.hosts
    etag = f'"{blake2b(told, digest_size=12).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(told, media_type="application/octet-stream", headers=headers)


@router.get("/search", summary="Find things by a part of their name or id")
async def find(query: Annotated[SearchQuery, Query()], plane: ThePlane) -> SearchAnswer:
    """VMs, scale sets, availability sets, cloud services, hosts, events and campaigns."""
    listed = await list_of(plane, _PATIENCE_SECONDS)
    if listed is None:
        found = list(islice(exactly(plane.region, query.q), query.limit))
        return SearchAnswer(found=found, more=False, ready=False, share=plane.read_models.share)
    things = await asyncio.to_thread(search, listed, query.q, query.limit + 1)
    return SearchAnswer(found=things[: query.limit], more=len(things) > query.limit, ready=True, share=1.0)
