"""Finding things of any kind by a part of their name or id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice, takewhile

from forewarn.core.causes import CAUSES
from forewarn.core.region import Region, fold
from forewarn.core.specs import ScopeKind
from forewarn.plane.read_models.order import Order
from forewarn.web.operator.desk import Listed
from forewarn.web.operator.schema.counts import FoundThing

_SETS = (ScopeKind.AVAILABILITY_SET, ScopeKind.CLOUD_SERVICE)
_HOST = "host-"


def search(listed: Listed, text: str, limit: int) -> list[FoundThing]:
    """What is called exactly so, then what begins so, then what has it anywhere; of each, few kinds before many VMs."""
    part, region = fold(text), listed.look.region
    found = chain(
        exactly(region, text),
        *(kind(listed, part, limit) for kind in _BEGINNING),
        *(kind(listed, part, limit) for kind in _HAVING),
    )
    return list(islice(dict.fromkeys(found), limit))


def exactly(region: Region, text: str) -> Iterator[FoundThing]:
    """Things with exactly this name or id, which takes no search."""
    key = fold(text)
    if key in region.vms:
        yield _vm(region, key)
    if key in region.scale_sets:
        yield _scale_set(region, key)
    yield from (_scope(region, scope) for kind in _SETS if (scope := f"{kind.value}/{key}") in region.scopes)
    yield from (_host(region, number) for number in _hosts_called(region, key, exact=True))
    yield from (_event(region, key.upper()) for _ in range(1) if _is_shown(region, key.upper()))
    if key.upper() in region.campaigns:
        yield _campaign(region, key.upper())


# Each kind of thing: those that begin with a part, and those that have it anywhere


def _beginning(order: Order[str], part: str) -> Iterator[str]:
    return takewhile(lambda key: key.startswith(part), order.since(part))


def _vms_beginning(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    return (_vm(listed.look.region, key) for key in islice(_beginning(listed.register.vms, part), limit))


def _vms_having(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    return (_vm(listed.look.region, key) for key in islice(listed.register.vms.having(part), limit))


def _scale_sets_having(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    return (_scale_set(listed.look.region, key) for key in islice(listed.register.scale_sets.having(part), limit))


def _sets_beginning(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    keys = (key for kind in _SETS for key in islice(_beginning(listed.register.scopes, f"{kind.value}/{part}"), limit))
    return (_scope(listed.look.region, key) for key in keys)


def _sets_having(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    """Scopes of one kind stand together; a part of the kind's own name is no part of theirs."""
    keys = (key for kind in _SETS for key in islice(_scopes_having(listed.register.scopes, kind, part), limit))
    return (_scope(listed.look.region, key) for key in keys)


def _scopes_having(order: Order[str], kind: ScopeKind, part: str) -> Iterator[str]:
    begin, end = f"{kind.value}/", f"{kind.value}0"  # which follows the slash
    return (key for key in order.having(part, begin, end) if part in key.removeprefix(begin))


def _hosts_beginning(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    region = listed.look.region
    return (_host(region, number) for number in islice(_hosts_called(region, part, exact=False), limit))


def _events_having(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    return (_event(listed.look.region, key) for key in islice(listed.register.events.having(part.upper()), limit))


def _campaigns_having(listed: Listed, part: str, limit: int) -> Iterator[FoundThing]:
    region = listed.look.region
    return (_campaign(region, key) for key in islice((key for key in region.campaigns if part.upper() in key), limit))


_Kind = Callable[[Listed, str, int], Iterator[FoundThing]]
_BEGINNING: tuple[_Kind, ...] = (_sets_beginning, _vms_beginning, _hosts_beginning)
_HAVING: tuple[_Kind, ...] = (_scale_sets_having, _sets_having, _vms_having, _campaigns_having, _events_having)


def _hosts_called(region: Region, part: str, *, exact: bool) -> Iterator[int]:
    """Their numbers, from ``host-7`` or a beginning of that."""
    if _HOST.startswith(part) and not exact:
        yield from range(len(region.hosts))
        return
    digits = part.removeprefix(_HOST)
    if digits == part or not (digits.isascii() and digits.isdigit()) or str(int(digits)) != digits:
        return
    first, width = int(digits), 1
    while first < len(region.hosts):
        yield from range(first, min(first + width, len(region.hosts)))
        if exact or not first:
            return
        first, width = first * 10, width * 10


# What is told of each


def _vm(region: Region, key: str) -> FoundThing:
    vm = region.vms[key]
    return FoundThing(kind="vm", name=vm.name, id=vm.key, about=f"{vm.power.value}, {vm.scope}")


def _scale_set(region: Region, key: str) -> FoundThing:
    scale_set = region.scale_sets[key]
    return FoundThing(kind="scale-set", name=scale_set.name, id=key, about=f"scale set of {scale_set.capacity}")


def _scope(region: Region, key: str) -> FoundThing:
    scope = region.scopes[key]
    return FoundThing(kind=scope.kind.value, name=scope.name, id=key, about=f"{len(scope.members)} VMs")


def _host(region: Region, number: int) -> FoundThing:
    host = region.hosts[number]
    return FoundThing(kind="host", name=host.name, id=host.name, about=f"{host.health.value}, {len(host.vms)} VMs")


def _is_shown(region: Region, event_id: str) -> bool:
    event = region.events.get(event_id)
    return event is not None and event.announced


def _event(region: Region, event_id: str) -> FoundThing:
    event = region.events[event_id]
    about = f"{CAUSES[event.cause].type.value} of {len(event.vms)} VMs, {event.phase.value}"
    return FoundThing(kind="event", name=event.id, id=event.id, about=about)


def _campaign(region: Region, campaign_id: str) -> FoundThing:
    campaign = region.campaigns[campaign_id]
    about = f"{campaign.cause.value}, {campaign.state.value}"
    return FoundThing(kind="campaign", name=campaign.id, id=campaign.id, about=about)
