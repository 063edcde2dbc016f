"""An operator's say in events: let them start, or take them back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forewarn.core.region import Event, Region, fold
from forewarn.web import arm_ids
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import events
from forewarn.web.operator.schema.requests import EventIdsBody
from forewarn.web.portal.deeds.deed import PortalDeed, body_of, outcome
from forewarn.web.portal.doors.twins import ApiCall, Cmdlet, Twin, az, cannot, forewarn, power_shell
from forewarn.web.portal.forms import Filled, FormField
from forewarn.web.portal.written import count

_EVENTS = (FormField("event", "Events", "names", "ids", required=True),)
_NO_CMDLET = "The Az module has no cmdlet that takes maintenance back."
_CMDLET = "Approve-AzScheduledEvent"  # of Az.Maintenance 1.7.0 and later
_ACKNOWLEDGE_VERSION = "2025-10-01-preview"  # of Microsoft.Maintenance, which documents it
_KINDS = ("virtualMachines", "virtualMachineScaleSets")  # of those that both doors name, what an event may be of


async def _approve(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await events.approve(filled.body(EventIdsBody), asker)


async def _cancel(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await events.cancel(filled.body(EventIdsBody), asker)


def _which(filled: Filled) -> str:
    ids = filled.all("event")
    return f"event {ids[0]}" if len(ids) == 1 else count(len(ids), "event")


def _found(filled: Filled, region: Region) -> Iterator[Event]:
    return (region.events[each.upper()] for each in filled.all("event") if each.upper() in region.events)


def _places(filled: Filled, region: Region) -> Iterator[tuple[str, str, str, str]]:
    """Resource group, kind and name of what each event is of, and its id."""
    for event in _found(filled, region):
        vm = region.vms.get(event.vms[0])
        scale_set = region.scale_sets.get(fold(vm.scale_set)) if vm is not None and vm.scale_set else None
        if scale_set is not None:
            yield scale_set.resource_group, _KINDS[1], scale_set.name, event.id
        elif vm is not None:
            yield vm.spec.resource_group, _KINDS[0], vm.name, event.id


def _acknowledge(filled: Filled, region: Region) -> Twin:
    """``az`` has a command of its own for it only in an extension; its ``rest`` sends what the provider documents."""
    urls = []
    for group, kind, name, event in _places(filled, region):
        resource = arm_ids.resource_id(arm_ids.group_id("{subscriptionId}", group), f"{arm_ids.COMPUTE}/{kind}", name)
        urls.append(f"{arm_ids.acknowledge_path(resource, event)}?api-version={_ACKNOWLEDGE_VERSION}")
    return az(*(["rest", "--method", "post", "--url", url] for url in urls))


def _cmdlet(filled: Filled, region: Region) -> Twin:
    named = {"group": "ResourceGroupName", "kind": "ResourceType", "name": "ResourceName", "event": "ScheduledEventId"}
    cmdlet = Cmdlet(_CMDLET, f"az.maintenance/{_CMDLET.lower()}", parameters=named)
    return power_shell(cmdlet, *(dict(zip(named, each, strict=True)) for each in _places(filled, region)))


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
            _cmdlet(filled, region),
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
