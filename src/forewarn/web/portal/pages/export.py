"""What a list shows, as a file: the same rows by the same filters, not only the first fifty."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from forewarn.web.operator.schema.answers import ActivityAnswer, Answer
from forewarn.web.operator.schema.fleet_answers import CampaignAnswer, EventAnswer, HostAnswer, ScopeAnswer, VmAnswer
from forewarn.web.operator.schema.scale_set_answers import ScaleSetAnswer
from forewarn.web.portal.page import PortalPage, Visit
from forewarn.web.portal.pages import activity, campaigns, events, hosts, scale_sets, scopes, vms
from forewarn.web.portal.sheets import CsvSheet, JsonSheet, Sheet, written

_SHEETS: dict[str, Callable[[str, type[Answer]], Sheet]] = {"csv": CsvSheet, "json": JsonSheet}


@dataclass(frozen=True)
class _List:
    """A list that can be exported: its rows, and the operator API's answer with a part of them."""

    row: type[Answer]
    field: str  # of the answer
    part: Callable[[Visit, str, int], Awaitable[Any]]


LISTS = {
    "vms": _List(VmAnswer, "vms", vms.part_of),
    "events": _List(EventAnswer, "events", events.part_of),
    "hosts": _List(HostAnswer, "hosts", hosts.part_of),
    "availability-sets": _List(ScopeAnswer, "scopes", scopes.AVAILABILITY_SETS),
    "cloud-services": _List(ScopeAnswer, "scopes", scopes.CLOUD_SERVICES),
    "scale-sets": _List(ScaleSetAnswer, "scale_sets", scale_sets.part_of),
    "campaigns": _List(CampaignAnswer, "campaigns", campaigns.part_of),
    "activity": _List(ActivityAnswer, "activity", activity.part_of),
}


async def view(visit: Visit) -> Response:
    """Refused, before anything is sent, where the page would refuse the filter."""
    name, kind = visit.path["list"], visit.path["kind"]
    if name not in LISTS or kind not in _SHEETS:
        known = f"{', '.join(LISTS)}, each as {' or '.join(_SHEETS)}"
        raise HTTPException(404, f"There is no such list to export; there are {known}")
    chosen = LISTS[name]

    async def rows_after(after: str, limit: int) -> tuple[Sequence[Answer], str | None]:
        found = await chosen.part(visit, after, limit)
        return getattr(found, chosen.field), None if found.next is None else str(found.next)

    await rows_after("", 1)
    sheet = _SHEETS[kind](chosen.field, chosen.row)
    disposition = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingResponse(written(sheet, rows_after), 200, disposition, sheet.media_type)


PAGES = (PortalPage("export", "/export/{list}.{kind}", "Export", view, ""),)
