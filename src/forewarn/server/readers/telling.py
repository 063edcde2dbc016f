"""What readers are told: of each publication what has changed for reads, and of a beginning everything.

A publication costs what it changed, once, however many readers there are. The number is raised before the first of them
is told. What goes wrong here leaves the number raised, so that readers hold their answers until they are begun anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from forewarn.core import facts as f
from forewarn.core.region import Power, Region, Scope, Vm, replace
from forewarn.core.specs import VmSpec
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Record
from forewarn.server.readers.messages import Beat, Edition, encode
from forewarn.server.readers.shared_number import SharedNumber
from forewarn.web.faults import FaultRules
from forewarn.web.operator.live.subjects import UnknownEventError, named_by
from forewarn.web.slices.bulletins import ScopeSlice, VmSlice
from forewarn.web.watched import WatchedVms

_log = logging.getLogger(__name__)
_PORTION = 500  # ours: VMs of one message of a beginning; cutting them out takes a few milliseconds
_SIGNS_OF_LIFE = (f.ScopeRead, f.ScopesRead)  # no document tells of them, and most facts are these
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # in the place of what documents do not tell


class Telling:
    """Follows a plane. ``tell`` has each edition as one message, and ``fail`` is called where none could be made."""

    def __init__(
        self,
        plane: Plane,
        number: SharedNumber,
        faults: FaultRules,
        watched: WatchedVms,
        *,
        always_hands_on: bool,
        tell: Callable[[bytes], None],
        fail: Callable[[], None],
    ) -> None:
        self._plane = plane
        self._number = number
        self._faults = faults
        self._watched = watched
        self._always_hands_on = always_hands_on
        self._tell = tell
        self._fail = fail
        self._before = plane.region
        self._is_closed = False
        self.edition = 1
        number.raise_to(self.edition)
        self._unsubscribe = plane.subscribe(self._publish)
        faults.watch(self._rules_changed)
        watched.watch(self._rules_changed)

    def close(self) -> None:
        self._unsubscribe()
        self._is_closed = True

    def beat(self) -> Beat:
        """How the server stands now."""
        plane = self._plane
        speed = 1.0 if plane.clock.kind == "real" else plane.clock.speed
        return Beat(plane.system.elapsed(), plane.now(), speed, plane.standing.current_until)

    def beginning(self) -> Iterator[bytes]:
        """All of this edition, in portions that belong together."""
        region, edition = self._before, self.edition
        keys = list(region.vms)
        told: set[str] = set()
        for first in range(0, len(keys), _PORTION):
            vms = [region.vms[key] for key in keys[first : first + _PORTION]]
            scopes = tuple(_scopes_of(region, vms, told))
            yield encode(Edition(edition, self.beat(), True, True, tuple(map(vm_slice, vms)), (), scopes))
        yield encode(self._news(edition, whole=True))

    def _news(self, edition: int, *, whole: bool = False) -> Edition:
        hands_on = self._always_hands_on or self._faults.active
        return Edition(edition, self.beat(), whole, hands_on=hands_on, watched=tuple(self._watched.names))

    def _publish(self, region: Region, records: Sequence[Record]) -> None:
        before, self._before = self._before, region
        try:
            vms, gone, scopes = changes(before, region, records)
            if vms or gone or scopes:
                self._edit(lambda news: replace(news, vms=vms, gone=gone, scopes=scopes))
        except Exception:
            self.edition += 1
            self._number.raise_to(self.edition)  # readers know less than was published, and answer nothing
            _log.exception("Readers could not be told what was published; they begin anew.")
            self._fail()

    def _rules_changed(self) -> None:
        self._edit(lambda news: news)

    def _edit(self, change: Callable[[Edition], Edition]) -> None:
        """Send the next edition, before anything that it tells is answered: first the message, then the number."""
        if self._is_closed:
            return
        self.edition += 1
        message = encode(change(self._news(self.edition)))
        self._number.raise_to(self.edition)
        self._tell(message)


def changes(
    before: Region, after: Region, records: Sequence[Record]
) -> tuple[tuple[VmSlice, ...], tuple[str, ...], tuple[ScopeSlice, ...]]:
    """What these records, which lead from one region to the other, changed for reads: VMs, VMs that went, scopes."""
    names = dict.fromkeys(_names(before, after, records))
    keys = [name.removeprefix("vm/") for name in names if name.startswith("vm/")]
    gone = tuple(key for key in keys if key in before.vms and key not in after.vms)
    touched = [after.vms[key] for key in keys if key in after.vms]
    vms = tuple(vm_slice(vm) for vm in touched if not _is_same_vm(before.vms.get(vm.key), vm))
    new = {each.vm.scope for each in vms}
    scopes = {vm.scope: after.scope_of(vm) for vm in touched}
    scopes |= {name: after.scopes[name] for name in names if name in after.scopes}
    told = (scope for scope in scopes.values() if scope.key in new or not _is_same_scope(before, after, scope))
    return vms, gone, tuple(scope_slice(after, scope) for scope in told)


def _names(before: Region, after: Region, records: Sequence[Record]) -> Iterator[str]:
    for record in records:
        if isinstance(record.fact, _SIGNS_OF_LIFE):
            continue
        try:
            yield from named_by(record.fact, before, after)
        except UnknownEventError:  # it began with one of these records, which has named all that it touched
            continue


def _scopes_of(region: Region, vms: Sequence[Vm], told: set[str]) -> Iterator[ScopeSlice]:
    """The enabled scopes of these VMs, each once. Of the others readers need nothing: the server answers for these."""
    for vm in vms:
        scope = region.scopes.get(vm.scope)
        if scope is not None and scope.enabled_at is not None and scope.key not in told:
            told.add(scope.key)
            yield scope_slice(region, scope)


def _is_same_vm(was: Vm | None, is_now: Vm) -> bool:
    return was is is_now or (was is not None and vm_slice(was) == vm_slice(is_now))


def _is_same_scope(before: Region, after: Region, scope: Scope) -> bool:
    was = before.scopes.get(scope.key)
    if was is None:
        return scope.enabled_at is None
    if (was.enabled_at, was.incarnation, was.events) != (scope.enabled_at, scope.incarnation, scope.events):
        return False
    return all(before.events.get(each) is after.events[each] for each in scope.events)


def vm_slice(vm: Vm) -> VmSlice:
    """Who it is and how it is known. What it is told of itself, the server tells."""
    spec = VmSpec(kind=vm.spec.kind, set_name=vm.spec.set_name, role=vm.spec.role)
    return VmSlice(Vm(vm.name, spec, "", _LONG_AGO, vm.number, None, Power.RUNNING, binding=vm.binding))


def scope_slice(region: Region, scope: Scope) -> ScopeSlice:
    """What its document is made from. Which VMs an event hits is not in documents; their names are."""
    events = tuple(replace(region.events[each], vms=()) for each in scope.events)
    return ScopeSlice(scope.key, scope.kind, scope.name, scope.enabled_at, scope.incarnation, events)
