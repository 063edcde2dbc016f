"""Domains as sightings. Nothing here changes anything."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from forewarn.core.machines.values import Listing, MachinePower, SeenWhy, Sighting
from forewarn.engines.libvirt.binding import (
    NO_DOMAIN,
    NO_DOMAIN_METADATA,
    OPERATION_UNSUPPORTED,
    code_of,
    is_libvirts,
    libvirt,
)
from forewarn.engines.libvirt.stamps import NAMESPACE, Stamp, boot_mark, read, stamp_in, with_stamp

# virDomainState and virDomainShutoffReason of include/libvirt/libvirt-domain.h
_PAUSED, SHUT_OFF, _CRASHED = 3, 5, 6
MIGRATED_AWAY = 4  # VIR_DOMAIN_SHUTOFF_MIGRATED: its definition was left behind
_OFF = (SHUT_OFF, _CRASHED)
# VIR_DOMAIN_PAUSED_IOERROR, WATCHDOG, CRASHED, POSTCOPY_FAILED: resuming one would push it on over what broke
_PAUSED_BY_A_FAULT = frozenset({5, 6, 10, 13})
_PAUSED_MIGRATING_IN = 2  # VIR_DOMAIN_PAUSED_MIGRATION: the half of a machine that is on its way
_PAUSED_STARTING_UP = 11  # VIR_DOMAIN_PAUSED_STARTING_UP: QEMU is there, and its guest has not begun
_WHY_OFF = {1: SeenWhy.GUEST, 2: SeenWhy.ASKED, 3: SeenWhy.CRASH, 4: SeenWhy.ASKED, 5: SeenWhy.ASKED, 6: SeenWhy.CRASH}


def found(connection: Any, ref: str) -> Any | None:
    """The domain of that name, or None where the daemon has none."""
    try:
        return connection.lookupByName(ref)
    except Exception as fault:
        if is_libvirts(fault) and code_of(fault) == NO_DOMAIN:
            return None
        raise


def stamp_of(domain: Any, *, running: bool) -> Stamp:
    """Of the running definition, or of the one that the next start will use."""
    module = libvirt()
    of_which = module.VIR_DOMAIN_AFFECT_LIVE if running else module.VIR_DOMAIN_AFFECT_CONFIG
    try:
        return read(domain.metadata(module.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE, of_which))
    except Exception as fault:
        if is_libvirts(fault) and code_of(fault) == NO_DOMAIN_METADATA:
            return Stamp()
        raise


def sighting_of(domain: Any, host: str) -> Sighting | None:
    """What there is now; None for a domain that is only on its way here, and for one that went while looking."""
    try:
        return _sighting_of(domain, host)
    except Exception as fault:
        if is_libvirts(fault) and code_of(fault) == NO_DOMAIN:
            return None
        raise


def _sighting_of(domain: Any, host: str) -> Sighting | None:
    state, reason = domain.state()
    if state in _OFF:
        return _off(domain, host, state, reason, stamp_of(domain, running=False))
    return _awake(domain, host, state, reason)


def _off(domain: Any, host: str, state: int, reason: int, stamp: Stamp) -> Sighting:
    why = SeenWhy.CRASH if state == _CRASHED else _WHY_OFF.get(reason, SeenWhy.UNKNOWN)
    return Sighting(domain.name(), host, MachinePower.OFF, why=why, errand=stamp.errand)


def _awake(domain: Any, host: str, state: int, reason: int) -> Sighting | None:
    if state == _PAUSED and reason == _PAUSED_MIGRATING_IN and not _is_leaving(domain):
        return None
    stamp = stamp_of(domain, running=True)
    if state == _PAUSED and reason == _PAUSED_STARTING_UP:  # it is not paused: nobody has to let it go on
        return Sighting(domain.name(), host, MachinePower.OFF, why=SeenWhy.ASKED, errand=stamp.errand)
    power = MachinePower.PAUSED if state == _PAUSED else MachinePower.RUNNING  # one that sleeps by itself is not paused
    why = SeenWhy.CRASH if state == _PAUSED and reason in _PAUSED_BY_A_FAULT else SeenWhy.UNKNOWN
    return Sighting(domain.name(), host, power, boot_mark(stamp, host, domain.ID()), why, stamp.errand)


def _is_leaving(domain: Any) -> bool:
    """Whether this is the source of a migration in its last moments: paused, and with a job of its own.

    The other end has the job too, and refuses to tell of it: "available only on the source host".
    """
    try:
        return bool(domain.jobInfo()[0])
    except Exception as fault:
        if is_libvirts(fault) and code_of(fault) == OPERATION_UNSUPPORTED:
            return False
        raise


def seen(connection: Any, ref: str, host: str) -> Sighting:
    """What there is of one machine at one host; gone where there is nothing."""
    domain = found(connection, ref)
    sighting = None if domain is None else sighting_of(domain, host)
    return sighting or Sighting(ref, host, MachinePower.GONE)


def listing_of(connection: Any, host: str) -> Listing:
    """All domains of that daemon, transient ones too.

    A daemon with a thousand is asked as little as can be: the states of all come in one answer, and each domain tells
    its next definition, stamp and all, and one that is awake the stamp of its running one.
    """
    module = libvirt()
    transient = {each.UUID() for each in connection.listAllDomains(module.VIR_CONNECT_LIST_DOMAINS_TRANSIENT)}
    told = connection.getAllDomainStats(module.VIR_DOMAIN_STATS_STATE, 0)
    every = (
        _listed(domain, host, states["state.state"], states["state.reason"], domain.UUID() not in transient)
        for domain, states in told
    )
    return Listing(host, complete=True, machines=tuple(each for each in every if each is not None))


def _listed(domain: Any, host: str, state: int, reason: int, is_persistent: bool) -> Sighting | None:
    """None as for ``sighting_of``. What the next start uses stands there without passwords and without our own stamp,
    which differs from errand to errand."""
    try:
        text = str(domain.XMLDesc(libvirt().VIR_DOMAIN_XML_INACTIVE)) if is_persistent else ""
        stamp = stamp_in(text) if text else Stamp()
        off = state in _OFF
        seen_so = _off(domain, host, state, reason, stamp) if off else _awake(domain, host, state, reason)
    except Exception as fault:
        if is_libvirts(fault) and code_of(fault) == NO_DOMAIN:
            return None
        raise
    if seen_so is None or not text:
        return seen_so
    kept = with_stamp(text, Stamp(vm=stamp.vm, vm_id=stamp.vm_id, disks=stamp.disks))
    return structs.replace(seen_so, definition=kept)
