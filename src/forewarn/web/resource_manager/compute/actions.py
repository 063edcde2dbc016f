"""What can be done to VMs, wherever they stand in a path: the same verbs for a VM, an instance and a whole set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import uuid4

from forewarn.core import commands as c
from forewarn.core.region import DOWN, Power, Vm
from forewarn.plane.ports import Origin
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute.schema import Object, read
from forewarn.web.resource_manager.errors import ArmError

_Names = tuple[str, ...]

_COMMANDS: dict[str, Callable[[_Names, str], c.Single]] = {
    "start": lambda names, seed: c.StartVms(names),
    "restart": c.RestartVms,
    "redeploy": c.RedeployVms,
    # Maintenance on demand moves a VM to a host that has had it: a redeployment that the user asks for.
    "performMaintenance": c.RedeployVms,
    "reimage": c.ReimageVms,
    "reimageAll": c.ReimageVms,
    "powerOff": lambda names, seed: c.StopVms(names),
    "deallocate": lambda names, seed: c.DeallocateVms(names),
}
VERBS = (*_COMMANDS, "reapply")  # the last finds everything as it should be, always
_FOR_RUNNING = frozenset({"restart", "redeploy", "performMaintenance", "reimage", "reimageAll"})
_OUT_OF_HAND = DOWN | {Power.EVICTING, Power.DELETING}


def commands_for(verb: str, vms: Iterable[Vm]) -> list[c.Single]:
    names = tuple(vm.name for vm in vms)
    return [_COMMANDS[verb](names, str(uuid4()))] if names and verb in _COMMANDS else []


def applicable(verb: str, vms: Iterable[Vm]) -> list[Vm]:
    """Of a whole set, the VMs that the verb applies to: a stopped one is not restarted."""
    return [vm for vm in vms if verb not in _FOR_RUNNING or vm.power not in _OUT_OF_HAND]


def selection_in(call: Call) -> Object:
    """The body of an action, which may be absent."""
    return {} if call.body is None else read(call.body, "InstanceSelection", call.api_version, "parameters")


async def simulate_eviction(desk: ArmDesk, call: Call, vm: Vm) -> ArmReply:
    """Answered with 204 at once; the Preempt event follows."""
    if not vm.spec.spot:
        sentence = "Operation 'simulateEviction' is allowed only for Spot Virtual Machines"
        raise ArmError(409, "OperationNotAllowed", sentence)
    await desk.plane.submit(c.EvictVms((vm.name,), str(uuid4())), call.origin)
    return ArmReply(204)


def who(origin: Origin) -> str:
    """The name that an approval from outside a VM is recorded with."""
    return f"resource manager: {origin.who}" if origin.who else "resource manager"
