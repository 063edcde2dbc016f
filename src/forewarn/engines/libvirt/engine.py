"""The libvirt engine: each errand handed to those who know its kind, and libvirt's errors turned into results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from msgspec import structs

from forewarn.core.machines.values import Errand, ErrandKind, Listing, MachinePower
from forewarn.engines.libvirt.acting import WithheldError, definition_of, put_stamp
from forewarn.engines.libvirt.binding import CHANGED_MEANWHILE, code_of, is_lasting, is_libvirts, words_of
from forewarn.engines.libvirt.examining import examined
from forewarn.engines.libvirt.hosts import Hosts, LibvirtHost
from forewarn.engines.libvirt.looking import found, listing_of, sighting_of, stamp_of
from forewarn.engines.libvirt.making import LibvirtBlueprint, Making
from forewarn.engines.libvirt.moving import Moving
from forewarn.engines.libvirt.powering import SOON_SECONDS, Powering
from forewarn.engines.libvirt.stamps import Stamp
from forewarn.plane.hands.engine import (
    ADDRESS,
    EngineFault,
    ErrandResult,
    Failed,
    Finding,
    NotYet,
    Unknown,
    Warrant,
    Way,
)

_T = TypeVar("_T")

MIGRATION_TIMEOUT = timedelta(minutes=10)  # OpenStack's live_migration_completion_timeout is 800 s for each GiB
MIGRATION_DOWNTIME = timedelta(milliseconds=500)  # OpenStack's live_migration_downtime


class LibvirtEngine:
    """Runs machines by the daemons of its hosts. See ``plane.hands.engine.Engine``."""

    def __init__(
        self,
        name: str,
        hosts: Sequence[LibvirtHost],
        elapsed: Callable[[], float],
        blueprints: Mapping[str, LibvirtBlueprint] | None = None,
        *,
        migration_timeout: timedelta = MIGRATION_TIMEOUT,
        migration_downtime: timedelta = MIGRATION_DOWNTIME,
        disks_are_shared: bool = False,
    ) -> None:
        self.name = name
        self._hosts = Hosts({host.name: host for host in hosts})
        powering = Powering(self._hosts, elapsed)
        self._moving = Moving(self._hosts, powering, elapsed, migration_timeout, migration_downtime, disks_are_shared)
        self._making = Making(self._hosts, powering, blueprints or {})
        self._ways: dict[ErrandKind, Callable[[Errand, Warrant], ErrandResult]] = {
            ErrandKind.CREATE: self._making.create,
            ErrandKind.START: powering.start,
            ErrandKind.STOP: powering.stop,
            ErrandKind.OFF: powering.put_away,
            ErrandKind.DELETE: self._making.delete,
            ErrandKind.RESTART: powering.restart,
            ErrandKind.PAUSE: powering.pause,
            ErrandKind.MIGRATE: self._moving.migrate,
            ErrandKind.REDEPLOY: self._moving.redeploy,
            ErrandKind.REIMAGE: self._making.reimage,
        }

    @property
    def kinds(self) -> frozenset[ErrandKind]:
        return frozenset(self._ways)

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        way = self._ways.get(errand.kind)
        if way is None:
            return Failed(f"A libvirt engine cannot {errand.kind} a machine.", True)
        result = self._told(partial(way, errand, warrant), errand)
        if errand.kind is ErrandKind.CREATE and isinstance(result, Failed) and result.lasting:
            return self._undone(errand, warrant, result)
        return result

    def _undone(self, errand: Errand, warrant: Warrant, refusal: Failed) -> ErrandResult:
        """The refusal, once nothing of the machine is left; until then the errand is not over."""
        result = self._told(lambda: self._making.undo(errand, warrant) or refusal, errand)
        if isinstance(result, Failed) and result is not refusal:
            return Failed(f"{refusal.why} What was made for it is there still: {result.why}", False)
        return result

    def _told(self, ask: Callable[[], ErrandResult], errand: Errand) -> ErrandResult:
        """What came of it, or libvirt's error as a result."""
        try:
            return ask()
        except WithheldError:
            return NotYet("not this server's to do just now", SOON_SECONDS)
        except EngineFault as fault:
            return Unknown(str(fault))
        except Exception as fault:
            if not is_libvirts(fault):
                raise
            if code_of(fault) in CHANGED_MEANWHILE:  # it left, or went off, between the look and the change: look anew
                return NotYet(words_of(fault), SOON_SECONDS)
            used = {errand.host, errand.to} - {""}
            if not all(self._hosts.is_alive(host) for host in used):
                return Unknown(words_of(fault))
            return Failed(words_of(fault), is_lasting(fault))

    def abandon(self, errand: Errand) -> None:
        if errand.kind is ErrandKind.MIGRATE:
            _asked(lambda: self._moving.abandon(errand))
        elif errand.kind is ErrandKind.PAUSE:
            _asked(lambda: self._resume(errand))

    def _resume(self, errand: Errand) -> None:
        domain = found(self._hosts.connect(errand.host), errand.ref)
        sighting = None if domain is None else sighting_of(domain, errand.host)
        if domain is not None and sighting is not None and sighting.power is MachinePower.PAUSED:
            domain.resume()

    def listing(self, host: str) -> Listing:
        return _asked(lambda: listing_of(self._hosts.connect(host), host))

    def changes(self, host: str, cursor: str) -> Iterator[str]:
        return self._hosts.hints(host, cursor)

    def adopt(self, host: str, ref: str, vm: str, vm_id: str) -> None:
        _asked(lambda: self._stamp(host, ref, vm=vm, vm_id=vm_id))

    def release(self, host: str, ref: str) -> None:
        """The stamp stays where an errand wrote one, so that the boot mark does not change; only whose it is goes."""
        _asked(lambda: self._stamp(host, ref, vm="", vm_id=""))

    def _stamp(self, host: str, ref: str, **owner: str) -> None:
        domain = self._domain(host, ref)
        for running in (False, True):
            if running and not domain.isActive():
                continue
            stamp = stamp_of(domain, running=running)
            changed: Stamp = structs.replace(stamp, **owner)
            if changed != stamp:
                put_stamp(domain, changed, running=running)

    def examine(self, host: str, ref: str, way: Way) -> tuple[Finding, ...]:
        """Beside the machines of all hosts: what two of them share is as bad across hosts, for they may move."""
        domain = _asked(lambda: self._domain(host, ref))
        definition = _asked(lambda: definition_of(domain))
        autostart = _asked(lambda: bool(domain.autostart())) if len(self._hosts.names) > 1 else None
        others: dict[str, str] = {}
        silent = []
        for each in self._hosts.names:
            try:
                others |= _asked(partial(self._definitions, each, ref))
            except EngineFault as fault:
                silent.append(Finding(ADDRESS, False, f"Whether one at {each} has its address is not known. {fault}"))
        return (*examined(definition, way, others, autostart=autostart), *silent)

    def _definitions(self, host: str, but: str) -> dict[str, str]:
        domains = self._hosts.connect(host).listAllDomains()
        return {f"{each.name()} at {host}": definition_of(each) for each in domains if each.name() != but}

    def close(self) -> None:
        self._hosts.close()

    def _domain(self, host: str, ref: str) -> Any:
        domain = found(self._hosts.connect(host), ref)
        if domain is None:
            raise EngineFault(f"Host {host} has no machine {ref}.")
        if not domain.isPersistent():
            raise EngineFault(
                f"{ref} at {host} is transient: libvirt forgets it when it stops, so it cannot be adopted."
            )
        return domain


def _asked(question: Callable[[], _T]) -> _T:
    """libvirt's errors as the port's one exception."""
    try:
        return question()
    except Exception as fault:
        if is_libvirts(fault):
            raise EngineFault(words_of(fault)) from fault
        raise
