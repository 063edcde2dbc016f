"""The single changes that errands are made of. Each asks for leave immediately before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from forewarn.engines.libvirt.binding import NO_STORAGE_VOL, code_of, is_libvirts, libvirt
from forewarn.engines.libvirt.looking import stamp_of
from forewarn.engines.libvirt.stamps import KEY, NAMESPACE, Stamp, written
from forewarn.plane.hands.engine import Warrant


class WithheldError(Exception):
    """The hand takes its word back: nothing more is to be changed."""


def act(warrant: Warrant, change: Callable[[], object]) -> None:
    """Make one change, if that is still wanted."""
    if not warrant.may():
        raise WithheldError
    change()


def put_stamp(domain: Any, stamp: Stamp, *, running: bool) -> None:
    """Into the running definition only, or into the inactive one only."""
    module = libvirt()
    where = module.VIR_DOMAIN_AFFECT_LIVE if running else module.VIR_DOMAIN_AFFECT_CONFIG
    domain.setMetadata(module.VIR_DOMAIN_METADATA_ELEMENT, written(stamp), KEY, NAMESPACE, where)


def stamp_errand(domain: Any, errand_id: str, warrant: Warrant) -> None:
    """Leave the errand's id where the next start will carry it into the running definition."""
    stamp = stamp_of(domain, running=False)
    if stamp.errand != errand_id:
        fresh = structs.replace(stamp, errand=errand_id, mark="", to="")
        act(warrant, lambda: put_stamp(domain, fresh, running=False))


def definition_of(domain: Any) -> str:
    """The inactive definition with its secrets, to be defined at another host."""
    module = libvirt()
    return str(domain.XMLDesc(module.VIR_DOMAIN_XML_INACTIVE | module.VIR_DOMAIN_XML_SECURE))


def undefine(domain: Any) -> None:
    """With all that libvirt keeps beside a definition: saved memory, firmware variables, snapshots and checkpoints."""
    module = libvirt()
    domain.undefineFlags(
        module.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
        | module.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
        | module.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
        | module.VIR_DOMAIN_UNDEFINE_NVRAM
    )


def volume_of(connection: Any, pool: str, name: str) -> Any:
    """One volume as its pool has it. A daemon knows what it made itself; what another host has made in a pool that
    both see it knows once it has looked again."""
    kept = connection.storagePoolLookupByName(pool)
    try:
        return kept.storageVolLookupByName(name)
    except Exception as fault:
        if not (is_libvirts(fault) and code_of(fault) == NO_STORAGE_VOL):
            raise
    kept.refresh(0)
    return kept.storageVolLookupByName(name)


def delete_volume(connection: Any, pool: str, volume: str) -> None:
    """One that was made for a machine; nothing where it is gone already."""
    try:
        volume_of(connection, pool, volume).delete()
    except Exception as fault:
        if not (is_libvirts(fault) and code_of(fault) == NO_STORAGE_VOL):
            raise
