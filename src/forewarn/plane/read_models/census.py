"""The census: how many there are of what. Counted once, and from then on by what changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from forewarn.core.causes import CAUSES
from forewarn.core.maps import Map
from forewarn.core.phases import Phase
from forewarn.core.region import Event, Host, HostHealth, Power, Region, Vm, fold, replace
from forewarn.core.specs import ScopeKind
from forewarn.plane.read_models.register import is_pending
from forewarn.terms import EventType

T = TypeVar("T", bound=Hashable)


class Traits(NamedTuple):
    """What VMs are counted by. A region has few combinations, whatever its size."""

    kind: ScopeKind
    power: Power
    update_domain: int
    fault_domain: int
    spot: bool
    pending: bool


Model: TypeAlias = tuple[str, int]  # a scale set, and a version of its model

# A host as a byte, lowest bits first: two of health, one of open work, and how many of its VMs do not run.
HEALTHS = (HostHealth.HEALTHY, HostHealth.FAILING, HostHealth.FAILED, HostHealth.SILENT)
# Two bits hold no more; the counts of each health are exact. What is drained has open work for as long as it is.
_AS_IF = {
    HostHealth.FENCED: HostHealth.FAILED,
    HostHealth.DRAINING: HostHealth.HEALTHY,
    HostHealth.LEFT: HostHealth.HEALTHY,
}
WORK = 4  # the third bit
_DOWN_SHIFT, _DOWN_MOST = 3, 31  # the five bits that are left count up to 31


def down_at(host: int) -> int:
    """How many VMs of the host with this byte do not run; 31 is that many or more."""
    return host >> _DOWN_SHIFT


class Census(Struct, frozen=True):
    """Counts of one region. Numbers of hosts begin at 0 and have no gaps."""

    vms: Map[Traits, int] = Map()
    models: Map[Model, int] = Map()
    events: Map[tuple[EventType, Phase], int] = Map()  # those that a document shows
    health: Map[HostHealth, int] = Map()
    hosts: bytes = b""
    down: Map[int, int] = Map()  # host -> its VMs that do not run
    work: Map[int, int] = Map()  # host -> its events that have not ended

    def with_vms(self, old: Sequence[Vm], before: Region, new: Sequence[Vm], after: Region) -> Census:
        """VMs as they are in ``after`` in place of what they were in ``before``."""
        traits, models, down = _traits(after, new), _models(new), _down(new)
        traits.subtract(_traits(before, old))
        models.subtract(_models(old))
        down.subtract(_down(old))
        counted = replace(
            self, vms=_added(self.vms, traits), models=_added(self.models, models), down=_added(self.down, down)
        )
        return counted.with_hosts(down, after)

    def with_events(self, old: Iterable[Event], new: Iterable[Event], after: Region) -> Census:
        """Events as they are in ``after``, told or not, in place of what they were."""
        shown: Counter[tuple[EventType, Phase]] = Counter()
        work: Counter[int] = Counter()
        for events, sign in ((old, -1), (new, 1)):
            for event in events:
                if event.announced:
                    shown[CAUSES[event.cause].type, event.phase] += sign
                if event.host is not None:
                    work[event.host] += sign
        counted = replace(self, events=_added(self.events, shown), work=_added(self.work, work))
        return counted.with_hosts(work, after)

    def with_healths(self, old: Iterable[Host], new: Iterable[Host], after: Region) -> Census:
        """Hosts that are new, or whose health has changed."""
        now = list(new)
        health = Counter(host.health for host in now)
        health.subtract(host.health for host in old)
        return replace(self, health=_added(self.health, health)).with_hosts([host.number for host in now], after)

    def with_hosts(self, numbers: Collection[int], after: Region) -> Census:
        """Their bytes, made anew from the counts."""
        if not numbers:
            return self
        told = bytearray(self.hosts)
        for number in numbers:
            told.extend(bytes(max(number + 1 - len(told), 0)))
            host = after.hosts.get(number)
            known = HostHealth.HEALTHY if host is None else host.health
            health = HEALTHS.index(_AS_IF.get(known, known))
            work = WORK if self.work.get(number) or known is HostHealth.DRAINING else 0
            told[number] = health | work | min(self.down.get(number, 0), _DOWN_MOST) << _DOWN_SHIFT
        return replace(self, hosts=bytes(told))


def _traits(region: Region, vms: Sequence[Vm]) -> Counter[Traits]:
    """Counted as plain tuples, of which there may be a million, and named afterwards, when there are few."""
    counted = Counter(
        [
            (
                vm.spec.kind,
                vm.power,
                vm.update_domain,
                vm.fault_domain,
                vm.spec.spot,
                bool(vm.events) and is_pending(region, vm),
            )
            for vm in vms
        ]
    )
    return Counter({Traits(*each): number for each, number in counted.items()})


def _models(vms: Sequence[Vm]) -> Counter[Model]:
    return Counter([(fold(vm.scale_set), vm.traits.model) for vm in vms if vm.spec.kind is ScopeKind.PLACEMENT_GROUP])


def _down(vms: Sequence[Vm]) -> Counter[int]:
    return Counter([vm.host for vm in vms if vm.power is not Power.RUNNING and vm.host is not None])


def _added(counts: Map[T, int], more: Counter[T]) -> Map[T, int]:
    """What is not there is not counted: no entry is 0."""
    changed = counts.mutate()
    for key, number in more.items():
        total = changed.get(key, 0) + number
        if total:
            changed[key] = total
        elif key in changed:
            del changed[key]
    return changed.finish()
