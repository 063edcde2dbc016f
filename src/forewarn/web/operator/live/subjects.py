"""Which things a fact has changed, as the addresses of the API name them: ``vm/web-0``, ``event/ID``, ``host/host-3``.

A page names what it shows in the same words and looks again when one of them is told. The journal's own subject of a
fact is one thing; here a fact names all that show it: an approval is seen at its event, its scope, its VMs, its host
and its campaign. Names are in lower case, ids in upper case, as the region has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, get_args

from forewarn.core import facts as f
from forewarn.core.machines import facts as mf
from forewarn.core.region import Event, Region, Vm, fold, scope_key
from forewarn.core.specs import ScopeKind
from forewarn.plane.ports import Record

MOST_SUBJECTS = 50  # as many as a list of the portal has rows
_MOST_LETTERS = 3200  # of all names together: a hint with its other fields stays below 4 kB

Namer: TypeAlias = Callable[[Any, Region, Region], Iterable[str]]


class UnknownEventError(Exception):
    """The fact is about an event that neither region knows any more, so who was touched by it cannot be told."""


class Subjects:
    """The things that have changed, each once; ``more`` says that there are others, which may be any.

    From then on nothing is noted any more: a reader has to look at everything in any case, so a burst of a million
    facts costs no more than its first fifty names.
    """

    def __init__(self, *names: str) -> None:
        self.names: dict[str, None] = {}
        self.more = False
        self._letters = 0
        self.add(names)

    def __bool__(self) -> bool:
        return bool(self.names) or self.more

    def add(self, names: Iterable[str]) -> None:
        known = self.names
        for name in names:
            if name in known:
                continue
            self._letters += len(name) + 3
            if len(known) >= MOST_SUBJECTS or self._letters > _MOST_LETTERS:
                self.more = True
                return
            known[name] = None

    def note(self, records: Sequence[Record], before: Region, after: Region) -> None:
        """What these records changed, which lead from one region to the other."""
        for record in records:
            if self.more:
                return
            namer = NAMERS.get(type(record.fact))
            if namer is None:
                continue
            try:
                self.add(namer(record.fact, before, after))
            except UnknownEventError:
                self.more = True


def named_by(fact: f.Fact, before: Region, after: Region) -> Iterable[str]:
    """All that one fact touched, which leads from one region to the other; ``UnknownEventError`` where none can say."""
    namer = NAMERS.get(type(fact))
    return () if namer is None else namer(fact, before, after)


def _born(fact: f.EventScheduled | f.EventBornStarted, _before: Region, after: Region) -> Iterator[str]:
    return _of_event(fact.event, after)


def _step(fact: Any, before: Region, after: Region) -> Iterator[str]:
    event = after.events.get(fact.event_id) or before.events.get(fact.event_id)
    if event is None:
        raise UnknownEventError
    return _of_event(event, after)


def _of_event(event: Event, region: Region) -> Iterator[str]:
    yield f"event/{event.id}"
    yield from _of_scope(event.scope)
    if event.host is not None:
        yield f"host/{_name_of(event.host, region)}"
    if event.campaign:
        yield f"campaign/{event.campaign}"
    for key in event.vms:
        yield f"vm/{key}"


def _of_scope(key: str) -> Iterator[str]:
    """A placement group is part of its scale set, which has the page."""
    yield key
    kind, _, name = key.partition("/")
    if kind == ScopeKind.PLACEMENT_GROUP.value:
        yield f"scale-set/{name.partition('~')[0]}"


def _scope(fact: Any, _before: Region, _after: Region) -> Iterator[str]:
    return _of_scope(fact.scope)


def _scope_created(fact: f.ScopeCreated, _before: Region, _after: Region) -> Iterator[str]:
    return _of_scope(scope_key(fact.kind, fact.name))


def _scopes_read(fact: f.ScopesRead, _before: Region, _after: Region) -> Iterable[str]:
    return (name for key in fact.scopes for name in _of_scope(key))


def _vm(fact: Any, before: Region, after: Region) -> Iterator[str]:
    """The VM, and the places where it was and is: the page of the host that it left shows it, too."""
    yield f"vm/{fact.vm}"
    for vm in (before.vms.get(fact.vm), after.vms.get(fact.vm)):
        if vm is not None:
            yield from _place_of(vm, after)


def _place_of(vm: Vm, region: Region) -> Iterator[str]:
    yield from _of_scope(vm.scope)
    if vm.host is not None:
        yield f"host/{_name_of(vm.host, region)}"


def _name_of(host: int, region: Region) -> str:
    """The name of a subject as the API's addresses spell it."""
    found = region.hosts.get(host)
    return f"host-{host}" if found is None else fold(found.name)


def _vm_created(fact: f.VmCreated, _before: Region, after: Region) -> Iterator[str]:
    yield f"vm/{fact.name.lower()}"
    yield from _of_scope(scope_key(fact.spec.kind, fact.spec.set_name or fact.name))
    yield f"host/{_name_of(fact.host, after)}"


def _spared(fact: f.VmSpared, before: Region, after: Region) -> Iterator[str]:
    yield from _vm(fact, before, after)
    yield from _step(fact, before, after)


def _host(fact: Any, _before: Region, after: Region) -> Iterator[str]:
    yield f"host/{_name_of(fact.host, after)}"


def _scale_set(fact: Any, _before: Region, _after: Region) -> Iterator[str]:
    yield f"scale-set/{fact.scale_set}"


def _scale_set_created(fact: f.ScaleSetCreated, _before: Region, _after: Region) -> Iterator[str]:
    yield f"scale-set/{fact.name.lower()}"


def _campaign(fact: Any, _before: Region, _after: Region) -> Iterator[str]:
    yield f"campaign/{fact.campaign_id}"


def _errand_made(fact: mf.ErrandMade, before: Region, after: Region) -> Iterator[str]:
    return _of_errand(fact.subject, fact.errand.vm, before, after)


def _errand(fact: mf.OneErrandFact, before: Region, after: Region) -> Iterator[str]:
    return _of_errand(fact.subject, fact.vm, before, after)


def _of_errand(subject: str, key: str, before: Region, after: Region) -> Iterator[str]:
    """The event that it is for, its VM, and where that lives; or the host that it is about."""
    kind, _, name = subject.partition("/")
    if kind == "host":
        yield f"host/{_name_of(int(name), after)}"
    elif not name:
        event = after.events.get(subject) or before.events.get(subject)
        yield from _of_event(event, after) if event is not None else (f"event/{subject}",)
    vm = after.vms.get(key) or before.vms.get(key)
    if vm is not None:
        yield f"vm/{key}"
        yield from _place_of(vm, after)


def _clock(_fact: f.ClockMoved, _before: Region, _after: Region) -> Iterator[str]:
    yield "clock"


# A fact that is not here changes nothing that a page names: operations and resources of the Resource Manager.
NAMERS: dict[type, Namer] = {
    **dict.fromkeys((f.EventScheduled, f.EventBornStarted), _born),
    **dict.fromkeys((f.EventAnnounced, f.EventApproved, f.EventStarted, f.EventCanceled), _step),
    **dict.fromkeys((f.ImpactBegan, f.ImpactEnded, f.EventCompleted), _step),
    **dict.fromkeys((f.VmBound, f.VmMoved, f.VmStopped, f.VmDeallocated, f.VmStarted, f.VmDeleted), _vm),
    **dict.fromkeys((f.VmRespecified, f.InstanceUpgraded, f.InstanceProtected), _vm),
    **dict.fromkeys((f.PolicySet, f.ScopeEnabled, f.ScopeRead, f.ScopeDisabled, f.ScopeRemoved), _scope),
    **dict.fromkeys((f.HostAdded, f.HostMarked), _host),
    **dict.fromkeys((f.ScaleSetChanged, f.ScaleSetModelChanged), _scale_set),
    **dict.fromkeys((f.ScaleSetDeletionAsked, f.ScaleSetDeleted), _scale_set),
    **dict.fromkeys((f.RollingUpgradeStarted, f.RollingUpgradeBatched, f.RollingUpgradeEnded), _scale_set),
    **dict.fromkeys((f.CampaignStarted, f.CampaignWaveBegan, f.CampaignHostsTaken), _campaign),
    **dict.fromkeys((f.CampaignPaused, f.CampaignResumed, f.CampaignCanceled, f.CampaignCompleted), _campaign),
    f.VmCreated: _vm_created,
    f.VmSpared: _spared,
    f.ScopeCreated: _scope_created,
    f.ScopesRead: _scopes_read,
    f.ScaleSetCreated: _scale_set_created,
    f.ClockMoved: _clock,
    **dict.fromkeys(get_args(mf.HostFact), _host),
    **dict.fromkeys(get_args(mf.MachineFact), _vm),
    **dict.fromkeys(get_args(mf.OneErrandFact), _errand),
    mf.ErrandMade: _errand_made,
}
