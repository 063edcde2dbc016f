"""What happened to VMs without an event: what to type beforehand, so that the next time there is one."""

from __future__ import annotations

from collections.abc import Sequence

from forewarn.core.region import Region, Vm, fold

# The option that gives a VM each notice, with a value that is allowed; see core.fleet for the bounds.
_OPTIONS = {"terminate_notice": "--terminate-notice 10m", "os_image_notice": "--os-image-notice 15m"}


def remedy(region: Region, names: Sequence[str], notice: str = "") -> str:
    """One sentence about the first of ``names`` that can be helped; empty where there is none.

    ``region`` is the one before it happened. ``notice`` is what a VM must have besides a reader, as its
    specification calls it.
    """
    vms = [vm for name in names if (vm := region.vms.get(fold(name))) is not None]
    helped = ((vm, commands) for vm in vms if (commands := _commands(region, vm, notice)))
    for vm, commands in helped:
        typed = " and ".join(f"'forewarn {command}'" for command in commands)
        scopes = len({each.scope for each in vms})
        others = "" if scopes == 1 else ", and the like for the other scopes"
        return f"To have {vm.name} warned, type {typed} first{others}."
    return ""


def _commands(region: Region, vm: Vm, notice: str) -> list[str]:
    reads = region.scope_of(vm).enabled_at is not None
    reading = [] if reads else [f"vm read {vm.name}"]
    if not notice or getattr(vm.spec, notice) is not None:
        return reading
    if vm.scale_set:
        return [f"vmss create {vm.scale_set} {_OPTIONS[notice]}", *reading]
    if notice == "os_image_notice":
        return []  # which the command line can give to scale sets only
    return [f"vm create {vm.name} {_OPTIONS[notice]} --read"]
