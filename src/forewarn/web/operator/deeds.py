"""What users do to VMs, and how to tell that it was done without an event. Shared by lone VMs and scale sets."""

from __future__ import annotations

from forewarn.core.causes import Cause
from forewarn.web.operator.outcome import NOBODY_READS, Deed

RESTARTED = Deed("restarted", NOBODY_READS, (Cause.USER_RESTART,))
REDEPLOYED = Deed("redeployed", NOBODY_READS, (Cause.USER_REDEPLOY,))
REIMAGED = Deed(
    "reimaged",
    "only a VM with an OS image notice, where scheduled events are read, is warned",
    (Cause.REIMAGE,),
    "os_image_notice",
)
EVICTED = Deed("evicted", NOBODY_READS, (Cause.EVICTION,))
STOPPED = Deed("stopped", "stopping never makes one")
DEALLOCATED = Deed("deallocated", "deallocation never makes one")
STARTED = Deed("started", "")
DELETED = Deed(
    "deleted",
    "only a VM with a terminate notice, where scheduled events are read, is warned",
    (Cause.DELETION,),
    "terminate_notice",
)
UPGRADED = Deed("given the latest model", "")
PROTECTED = Deed("protected from scale-in", "")
EXPOSED = Deed("opened to scale-in again", "")
