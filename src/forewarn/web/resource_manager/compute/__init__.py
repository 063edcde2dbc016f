"""Microsoft.Compute: virtual machines, availability sets, scale sets, instances; and the approval of their events."""

from __future__ import annotations

from forewarn.web.resource_manager.compute import (
    acknowledge,
    availability_sets,
    instance_interfaces,
    instances,
    scale_sets,
    vms,
)
from forewarn.web.resource_manager.routing import Router


def add_to(router: Router) -> None:
    """All of it."""
    for part in (availability_sets, vms, scale_sets, instances, instance_interfaces, acknowledge):
        part.add_to(router)
