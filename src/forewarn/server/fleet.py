"""What a region file says of VMs, brought into a region from within the server, before it says that it is ready."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from forewarn.core.commands import BindVm, Command, CreateVms, Pulse, Together
from forewarn.core.deciding.bindings import checked
from forewarn.core.deciding.scale_sets import put_as_it_is
from forewarn.core.refusal import Refused
from forewarn.core.region import Region, fold, replace
from forewarn.core.specs import NO_BINDING, Binding, BindingPattern, EvictionPolicy, ScopeKind, VmSpec
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import CommandFailed
from forewarn.settings.fleet_file import FleetEntry, Stretch, runs

_log = logging.getLogger(__name__)
AT_ONCE = 5_000  # ours: VMs in one command; others are answered between two of them
_ORIGIN = Origin("operator", "region file")


async def create_missing(plane: Plane, fleet: Sequence[FleetEntry], at_once: int = AT_ONCE) -> None:
    """Create what does not exist yet, in commands of at most ``at_once`` VMs; what exists is left alone.

    Nodes that start together from the same file take turns, and look again when it is their turn.
    """
    for entry in fleet:
        _check_binding(entry)
    for entry in fleet:
        for run in runs(entry, at_once, lambda name: _is_missing(plane, name)):
            async with plane.editing:
                await _create(plane, entry, run)


def _check_binding(entry: FleetEntry) -> None:
    """Refuse a binding that no VM could have, before the first VM is made."""
    try:
        checked(binding_of(entry) or NO_BINDING)
    except Refused as refused:
        raise _refused(entry, refused) from None


def _refused(entry: FleetEntry, refused: Refused) -> CommandFailed:
    return CommandFailed(f"the region file's VM {entry.name!r} was refused: {refused.message}")


def _is_missing(plane: Plane, name: str) -> bool:
    return fold(name) not in plane.region.vms


async def _create(plane: Plane, entry: FleetEntry, run: Stretch) -> None:
    names = (entry.name_of(index) for index in range(run.first, run.first + run.count))
    missing = tuple(name for name in names if _is_missing(plane, name))
    if not missing:
        return
    try:
        engine = plane.hands.made_from(entry.blueprint) if entry.blueprint else ""
    except Refused as refused:
        raise _refused(entry, refused) from None
    creating = CreateVms(missing, spec_of(entry, engine), plane.system.new_guid(), binding_of(entry), entry.host)
    reading = Pulse(tuple((fold(name), plane.now()) for name in missing))
    try:
        await plane.submit(Together((creating, reading)) if entry.read else creating, _ORIGIN)
    except Refused as refused:
        raise _refused(entry, refused) from None


def spec_of(entry: FleetEntry, engine: str = "") -> VmSpec:
    """What the core calls the same VMs. Empty fields keep the core's own defaults."""
    kind, set_name = ScopeKind.VM, ""
    if entry.availability_set:
        kind, set_name = ScopeKind.AVAILABILITY_SET, entry.availability_set
    elif entry.cloud_service:
        kind, set_name = ScopeKind.CLOUD_SERVICE, entry.cloud_service
    usual = VmSpec()
    return VmSpec(
        kind=kind,
        set_name=set_name,
        role=entry.role,
        spot=entry.spot,
        eviction_policy=EvictionPolicy(entry.eviction_policy or usual.eviction_policy),
        vnet=entry.vnet,
        terminate_notice=entry.terminate_notice,
        size=entry.size or usual.size,
        os_type=entry.os_type or usual.os_type,
        tags=tuple(entry.tags.items()),
        engine=engine,
        blueprint=entry.blueprint,
    )


def binding_of(entry: FleetEntry) -> Binding | None:
    """How the metadata face shall know it, where the file says so."""
    found = Binding(entry.address, entry.local_address, entry.netns, entry.interface, entry.unix)
    return None if found == NO_BINDING else found


async def bind_all(plane: Plane, entries: Sequence[BindingEntry]) -> None:
    """Bring every VM and set that exists to the binding that the file has for it; one without any is unbound.

    Nodes that start together from the same file take turns. What does not exist is named in the log and left for the
    next start.
    """
    for entry in entries:
        async with plane.editing:
            command = _binding_command(plane.region, entry, plane.system.new_id)
            if command is None:
                _log.warning("The region file binds %s, which does not exist.", entry)
                continue
            try:
                await plane.submit(command, _ORIGIN)
            except Refused as refused:
                raise CommandFailed(f"the region file's binding of {entry} was refused: {refused.message}") from None


def _binding_command(region: Region, entry: BindingEntry, new_id: Callable[[], str]) -> Command | None:
    said = (entry.address, entry.local_address, entry.netns, entry.interface)
    if entry.vm:
        return BindVm(entry.vm, Binding(*said, entry.unix)) if fold(entry.vm) in region.vms else None
    found = region.scale_sets.get(fold(entry.scale_set))
    if found is None:
        return None
    return replace(put_as_it_is(found, new_id()), spec=replace(found.spec, binding=BindingPattern(*said)))
