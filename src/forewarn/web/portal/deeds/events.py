"""An operator's say in events: let them start, or take them back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forewarn.core.region import Event, Region
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import events
from forewarn.web.operator.schema.requests import EventIdsBody
from forewarn.web.portal.deeds.deed import PortalDeed, body_of, outcome
from forewarn.web.portal.doors.twins import ApiCall, Twin, az, cannot, forewarn
from forewarn.web.portal.forms import Filled, FormField
from forewarn.web.portal.written import count

_EVENTS = (FormField("event", "Events", "names", "ids", required=True),)
_NO_CMDLET = "The Az module has no cmdlet for scheduled events."


async def _approve(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await events.approve(filled.body(EventIdsBody), asker)


async def _cancel(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await events.cancel(filled.body(EventIdsBody), asker)


def _which(filled: Filled) -> str:
    ids = filled.all("event")
    return f"event {ids[0]}" if len(ids) == 1 else count(len(ids), "event")


def _found(filled: Filled, region: Region) -> Iterator[Event]:
    return (region.events[each.upper()] for each in filled.all("event") if each.upper() in region.events)


def _acknowledge(filled: Filled, region: Region) -> Twin:
    """``az`` has no command of its own for it; its ``rest`` sends what the provider documents."""
    lines = []
    for event in _found(filled, region):
        vm = region.vms.get(event.vms[0])
        if vm is None or vm.scale_set:
            continue
        path = (
            f"/subscriptions/{{subscriptionId}}/resourceGroups/{vm.spec.resource_group}/providers/Microsoft.Compute/"
            f"virtualMachines/{vm.name}/providers/Microsoft.Maintenance/scheduledevents/{event.id}/acknowledge"
        )
        lines.append(["rest", "--method", "post", "--url", f"{path}?api-version=2025-10-01-preview"])
    return az(*lines) if lines else cannot("az", "For instances of a scale set, see docs/resource-manager.md.")


DEEDS = (
    PortalDeed(
        key="approve",
        title="Approve",
        question=lambda filled: f"Approve {_which(filled)}?",
        fields=_EVENTS,
        do=_approve,
        tell=outcome,
        call=lambda filled: ApiCall("POST", "/v1/events/approve", body_of(filled, EventIdsBody)),
        twins=lambda filled, region: (
            forewarn(["event", "approve", *filled.all("event")]),
            _acknowledge(filled, region),
            cannot("PowerShell", _NO_CMDLET),
        ),
        hint="Let events start before their NotBefore.",
    ),
    PortalDeed(
        key="cancel",
        title="Cancel",
        question=lambda filled: f"Take back {_which(filled)}?",
        fields=_EVENTS,
        do=_cancel,
        tell=outcome,
        call=lambda filled: ApiCall("POST", "/v1/events/cancel", body_of(filled, EventIdsBody)),
        twins=lambda filled, region: (
            forewarn(["event", "cancel", *filled.all("event")]),
            cannot("az", "Azure does not let users take maintenance back; an operator of the platform may."),
            cannot("PowerShell", _NO_CMDLET),
        ),
        danger=True,
        hint="Take events back that have not started.",
    ),
)
