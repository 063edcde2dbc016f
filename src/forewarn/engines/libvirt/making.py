"""Errands that make machines, give them new disks, and take them away."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from string import Template
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct, structs

from forewarn.core.machines.values import Errand, MachinePower, SeenWhy, Sighting
from forewarn.engines.libvirt.acting import act, delete_volume, put_stamp, undefine, volume_of
from forewarn.engines.libvirt.binding import NO_STORAGE_POOL, NO_STORAGE_VOL, code_of, is_libvirts, libvirt
from forewarn.engines.libvirt.hosts import Hosts
from forewarn.engines.libvirt.looking import found, seen, stamp_of
from forewarn.engines.libvirt.powering import SOON_SECONDS, Powering
from forewarn.engines.libvirt.stamps import Stamp, with_stamp
from forewarn.plane.hands.engine import Done, ErrandResult, Failed, NotYet, Warrant

_VOLUME = """<volume><name>{name}</name><capacity>{capacity}</capacity>
<target><format type='qcow2'/></target>
<backingStore><path>{image}</path><format type='qcow2'/></backingStore></volume>"""


class LibvirtBlueprint(Struct, frozen=True):
    """What to make machines from. Stands in the server's own files; no face takes one.

    ``definition`` is a domain's XML with ``$name``, ``$uuid``, ``$mac`` and ``$disk`` in it. With a ``pool`` each
    machine gets a volume of its own over ``image``, and ``$disk`` is its path; the volume goes when the machine goes.
    """

    name: str
    definition: str
    pool: str = ""
    image: str = ""


class Making:
    def __init__(self, hosts: Hosts, powering: Powering, blueprints: Mapping[str, LibvirtBlueprint]) -> None:
        self._hosts = hosts
        self._powering = powering
        self._blueprints = blueprints

    def create(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """The name, the GUID and the volume follow from the errand: asked again, what is half made is gone on with."""
        blueprint = self._blueprints.get(errand.blueprint)
        if blueprint is None:
            return Failed(f"This server has no blueprint {errand.blueprint!r} for engine {errand.engine}.", True)
        ref, connection = errand.ref or errand.vm, self._hosts.connect(errand.to)
        there = seen(connection, ref, errand.to)
        if there.power is MachinePower.RUNNING and there.errand == errand.id:
            return Done(there)
        domain = found(connection, ref)
        if domain is not None and stamp_of(domain, running=False).errand != errand.id:
            return Failed(f"Host {errand.to} has a machine {ref} already, which is not the region's to change.", True)
        if domain is None:
            disk = self._volume(connection, blueprint, errand, warrant)
            text = _filled(blueprint, errand, ref, disk)
            act(warrant, lambda: connection.defineXML(text))
            domain = found(connection, ref)
        act(warrant, domain.create)  # type: ignore[union-attr]  # it was just defined
        return Done(seen(connection, ref, errand.to))

    def undo(self, errand: Errand, warrant: Warrant) -> ErrandResult | None:
        """What this errand made for a machine that cannot be, known by its stamp and by its volume's name, is removed
        before anybody hears that it cannot be. None: nothing of it is left."""
        ref, connection = errand.ref or errand.vm, self._hosts.connect(errand.to)
        domain = found(connection, ref)
        if domain is not None and stamp_of(domain, running=False).errand == errand.id:
            if domain.isActive():
                return NotYet("it was refused, and runs: it is looked at again", SOON_SECONDS)
            act(warrant, lambda: undefine(domain))
        blueprint = self._blueprints.get(errand.blueprint)
        if blueprint is not None and blueprint.pool:
            return _undo_volume(connection, blueprint.pool, _volume_of(errand), warrant)
        return None

    def reimage(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Off, a new volume over the blueprint's image, started; the old volume goes only once the new one runs."""
        connection = self._hosts.connect(errand.host)
        there = seen(connection, errand.ref, errand.host)
        domain = found(connection, errand.ref)
        if domain is None:
            return Failed(f"Host {errand.host} has no machine {errand.ref}.", False)
        stamp = stamp_of(domain, running=False)
        blueprint = self._blueprints.get(errand.blueprint)
        if blueprint is None or not blueprint.pool or not stamp.owned:
            why = f"{errand.ref} was not made from a blueprint with an image: its disk is its owner's to make anew."
            return Failed(why, True)
        fresh = (blueprint.pool, _volume_of(errand))
        if there.power is MachinePower.RUNNING and there.errand == errand.id:
            self._drop_old_volumes(connection, domain, fresh, warrant)
            return Done(there)
        if stamp.errand != errand.id:
            self._volume(connection, blueprint, errand, warrant)
            kept = structs.replace(stamp, errand=errand.id, disks=f"{'/'.join(fresh)} {stamp.disks}")
            act(warrant, lambda: put_stamp(domain, kept, running=False))
        if not self._powering.is_off(domain, errand, warrant):
            return NotYet("the guest is shutting down", SOON_SECONDS)
        self._use_volume(connection, domain, stamp_of(domain, running=False), warrant)
        act(warrant, domain.create)
        self._drop_old_volumes(connection, domain, fresh, warrant)
        return Done(seen(connection, errand.ref, errand.host))

    def delete(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Gone, with the volumes that were made for it; others are kept."""
        connection = self._hosts.connect(errand.host)
        domain = found(connection, errand.ref)
        if domain is not None:
            owned = stamp_of(domain, running=False).owned if domain.isPersistent() else ()
            if domain.isActive():
                act(warrant, domain.destroy)
            for pool, volume in owned:
                act(warrant, partial(delete_volume, connection, pool, volume))
            domain = found(connection, errand.ref)  # a transient one has gone with its memory
            if domain is not None:
                act(warrant, lambda: undefine(domain))
            return Done(Sighting(errand.ref, errand.host, MachinePower.GONE, why=SeenWhy.ASKED))
        return Done(Sighting(errand.ref, errand.host, MachinePower.GONE))

    def _volume(self, connection: Any, blueprint: LibvirtBlueprint, errand: Errand, warrant: Warrant) -> str:
        """The path of this errand's volume, made if it is not there; empty where the blueprint has none."""
        if not blueprint.pool:
            return ""
        pool = connection.storagePoolLookupByName(blueprint.pool)
        try:
            return str(volume_of(connection, blueprint.pool, _volume_of(errand)).path())
        except Exception as fault:
            if not (is_libvirts(fault) and code_of(fault) == NO_STORAGE_VOL):
                raise
        image = connection.storageVolLookupByPath(blueprint.image)
        text = _VOLUME.format(name=_volume_of(errand), capacity=image.info()[1], image=escape(blueprint.image))
        act(warrant, lambda: pool.createXML(text))
        return str(pool.storageVolLookupByName(_volume_of(errand)).path())

    def _use_volume(self, connection: Any, domain: Any, stamp: Stamp, warrant: Warrant) -> None:
        """Put the newest volume in the place of the one that the definition names."""
        paths = [_path_of(connection, pool, volume) for pool, volume in stamp.owned]
        module = libvirt()
        text = str(domain.XMLDesc(module.VIR_DOMAIN_XML_INACTIVE | module.VIR_DOMAIN_XML_SECURE))
        changed = text
        for old in paths[1:]:
            changed = changed.replace(quoteattr(old, {'"': "&quot;"}).replace('"', "'"), f"'{escape(paths[0])}'")
        if changed != text:
            act(warrant, lambda: connection.defineXML(changed))

    def _drop_old_volumes(self, connection: Any, domain: Any, kept: tuple[str, str], warrant: Warrant) -> None:
        stamp = stamp_of(domain, running=False)
        for pool, volume in stamp.owned:
            if (pool, volume) != kept:
                act(warrant, partial(delete_volume, connection, pool, volume))
        if len(stamp.owned) > 1:
            last = structs.replace(stamp, disks="/".join(kept))
            act(warrant, lambda: put_stamp(domain, last, running=False))


def _volume_of(errand: Errand) -> str:
    return f"{errand.vm}-{errand.id[:8].lower()}.qcow2"


def _undo_volume(connection: Any, name: str, volume: str, warrant: Warrant) -> ErrandResult | None:
    """None where it is not there any more, and where its host has no such pool."""
    try:
        pool = connection.storagePoolLookupByName(name)
    except Exception as fault:
        if is_libvirts(fault) and code_of(fault) == NO_STORAGE_POOL:
            return None
        raise
    if not pool.isActive():
        return Failed(f"Pool {name} is not active, so nobody can see whether {volume} is left in it.", False)
    if volume in pool.listVolumes():
        act(warrant, partial(delete_volume, connection, name, volume))
    return None


def _path_of(connection: Any, pool: str, volume: str) -> str:
    return str(volume_of(connection, pool, volume).path())


def _filled(blueprint: LibvirtBlueprint, errand: Errand, ref: str, disk: str) -> str:
    """The blueprint for one machine, with the stamp in it: what is defined is known as this errand's from the first.

    The hardware address follows from its GUID, in the range that QEMU uses.
    """
    digits = errand.vm_id.replace("-", "")[:6].lower()
    mac = f"52:54:00:{digits[0:2]}:{digits[2:4]}:{digits[4:6]}"
    given = Template(blueprint.definition)
    filled = given.substitute(name=escape(ref), uuid=errand.vm_id, mac=mac, disk=escape(disk))
    disks = f"{blueprint.pool}/{_volume_of(errand)}" if disk else ""
    return with_stamp(filled, Stamp(errand.vm, errand.vm_id, errand.id, disks=disks))
