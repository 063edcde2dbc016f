"""Errands that take a machine to another host: live migration and redeployment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from msgspec import structs

from forewarn.core.machines.values import Errand, MachinePower
from forewarn.engines.libvirt.acting import act, put_stamp, stamp_errand
from forewarn.engines.libvirt.binding import is_libvirts, libvirt, words_of
from forewarn.engines.libvirt.hosts import Hosts
from forewarn.engines.libvirt.looking import found, seen, stamp_of
from forewarn.engines.libvirt.powering import SOON_SECONDS, Powering
from forewarn.plane.hands.engine import Done, ErrandResult, Failed, NotYet, Warrant

_OFF = (MachinePower.OFF, MachinePower.GONE)


def _stood_ms(domain: Any) -> int:
    """How long the migration that brought it here let it stand; 0 where libvirt does not know."""
    module = libvirt()
    try:
        flags = module.VIR_DOMAIN_JOB_STATS_COMPLETED | module.VIR_DOMAIN_JOB_STATS_KEEP_COMPLETED
        told = domain.jobStats(flags) if domain is not None else {}
    except module.libvirtError:  # it is not known, and nothing depends on it
        return 0
    downtime = told.get("downtime", 0)
    return downtime if isinstance(downtime, int) else 0


class Moving:
    """A started migration belongs to the daemon of its source, and is found again by looking."""

    def __init__(
        self,
        hosts: Hosts,
        powering: Powering,
        elapsed: Callable[[], float],
        timeout: timedelta,
        downtime: timedelta,
        disks_are_shared: bool,
    ) -> None:
        self._hosts = hosts
        self._powering = powering
        self._elapsed = elapsed
        self._timeout = timeout.total_seconds()
        self._downtime_ms = int(downtime.total_seconds() * 1000)
        self._disks_are_shared = disks_are_shared
        self._begun_at: dict[str, float] = {}
        self._failures: dict[str, str] = {}  # errand -> what libvirt said of a migration that this process began

    def migrate(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        source, target = self._hosts.connect(errand.host), self._hosts.connect(errand.to)
        staying = seen(source, errand.ref, errand.host)  # first: it goes only when it runs at the other end
        arrived = seen(target, errand.ref, errand.to)
        if arrived.power is MachinePower.RUNNING and staying.power in _OFF:
            self._forget(errand)
            return Done(structs.replace(arrived, stood_ms=_stood_ms(found(target, errand.ref))))
        domain = found(source, errand.ref)
        if domain is None or not domain.isActive():
            if staying.power not in _OFF:
                return NotYet("it has left since it was looked at", SOON_SECONDS)
            return Failed(f"Host {errand.host} does not run {errand.ref}: there is nothing to migrate.", domain is None)
        if domain.jobInfo()[0]:
            return self._under_way(errand, domain, warrant)
        if errand.id in self._failures:
            why = self._failures[errand.id]
            self._forget(errand)
            return Failed(why, False)
        if errand.id in self._begun_at:  # the thread has not reached the daemon yet
            return NotYet("the migration begins", SOON_SECONDS)
        return self._begin(errand, domain, staying.boot_mark, warrant)

    def _begin(self, errand: Errand, domain: Any, boot_mark: str, warrant: Warrant) -> ErrandResult:
        """The running definition carries the boot mark along, for the memory is the same at the other end."""
        stamp = structs.replace(stamp_of(domain, running=True), mark=boot_mark, to=errand.to)
        act(warrant, lambda: put_stamp(domain, stamp, running=True))
        if not warrant.may():
            return NotYet("not now", SOON_SECONDS)
        self._begun_at[errand.id] = self._elapsed()
        threading.Thread(target=self._run, args=(errand, domain), name=f"migrate-{errand.ref}", daemon=True).start()
        return NotYet("the migration begins", SOON_SECONDS)

    def _run(self, errand: Errand, domain: Any) -> None:
        """Ends with the migration. What became of it is seen, not taken from here; only a refusal is kept."""
        module, to = libvirt(), self._hosts.named(errand.to)
        flags = (
            module.VIR_MIGRATE_LIVE
            | module.VIR_MIGRATE_PEER2PEER
            | module.VIR_MIGRATE_PERSIST_DEST
            | module.VIR_MIGRATE_UNDEFINE_SOURCE
            | module.VIR_MIGRATE_AUTO_CONVERGE
            | module.VIR_MIGRATE_ABORT_ON_ERROR
        )
        if self._disks_are_shared:  # libvirt knows NFS, GFS2, OCFS2, CephFS and a few more; others it calls unsafe
            flags |= module.VIR_MIGRATE_UNSAFE
        given = {module.VIR_MIGRATE_PARAM_URI: to.migrate_uri} if to.migrate_uri else {}
        try:
            domain.migrateSetMaxDowntime(self._downtime_ms, 0)
            domain.migrateToURI3(to.peer_uri or to.uri, given, flags)
        except Exception as fault:  # whatever it is, somebody has to hear of it: the next look tells it
            self._failures[errand.id] = words_of(fault) if is_libvirts(fault) else str(fault)

    def _under_way(self, errand: Errand, domain: Any, warrant: Warrant) -> ErrandResult:
        begun_at = self._begun_at.setdefault(
            errand.id, self._elapsed()
        )  # another process began it: its time counts anew
        if self._elapsed() - begun_at >= self._timeout:
            act(warrant, domain.abortJob)
            self._failures[errand.id] = f"The migration was not over after {self._timeout:g} s, and was aborted."
        return NotYet("the migration is under way", SOON_SECONDS)

    def _forget(self, errand: Errand) -> None:
        self._begun_at.pop(errand.id, None)
        self._failures.pop(errand.id, None)

    def abandon(self, errand: Errand) -> None:
        """Abort the migration, if there is one."""
        domain = found(self._hosts.connect(errand.host), errand.ref)
        if domain is not None and domain.isActive() and domain.jobInfo()[0]:
            domain.abortJob()

    def redeploy(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Off at its host, then defined and started at ``to``, then forgotten at its host: never in two places."""
        target = errand.to or errand.host
        source = None if errand.source_off else found(self._hosts.connect(errand.host), errand.ref)
        if target == errand.host and source is not None:
            return self._powering.restart(errand, warrant)
        arrived = seen(self._hosts.connect(target), errand.ref, target)
        if arrived.power is MachinePower.RUNNING:
            if source is not None and source.isActive():
                return Failed(f"{errand.ref} runs at {errand.host} and at {target}: nothing is done to either.", True)
            if arrived.errand != errand.id:  # somebody has taken it there; it is still to be started anew
                return self._powering.restart(structs.replace(errand, host=target), warrant)
        if source is not None:
            stamp_errand(source, errand.id, warrant)
            if not self._powering.is_off(source, errand, warrant):
                return NotYet("the guest is shutting down", SOON_SECONDS)
        elif arrived.power is not MachinePower.RUNNING:
            return self._powering.start_missing(target, errand, warrant)
        return self._powering.start_from(errand.host, target, errand, warrant)
