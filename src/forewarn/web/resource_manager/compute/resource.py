"""What VMs, scale sets and availability sets have in common: the answers that do not depend on the kind.

Each kind says how it is sought, ordered and shown; making, changing and asking whether it is there are done here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from forewarn.core import commands as c
from forewarn.web import arm_ids
from forewarn.web.resource_manager import lro
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import views
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.routing import Handler, Router

T = TypeVar("T")
Shown = TypeVar("Shown", contravariant=True)


class View(Protocol[Shown]):
    """Shows a resource; ``state`` is what the operation under way says, before anything else."""

    def __call__(self, desk: ArmDesk, call: Call, shown: Shown, *, state: str = "") -> Object: ...


@dataclass(frozen=True)
class ResourceKind(Generic[T]):
    """One kind of resource, such as Microsoft.Compute/virtualMachines, that takes time to make and to change."""

    kind: str
    seek: Callable[[ArmDesk, Call], T | None]  # what the path names
    find: Callable[[ArmDesk, Call], T]  # the same, or the service's 404
    order: Callable[[ArmDesk, Call, T | None], Sequence[c.Single]]  # the commands that make it so, or the refusal
    view: View[T]

    def add_to(self, router: Router) -> None:
        """PUT, PATCH and HEAD."""
        router.add("PUT", one(self.kind), self.put)
        add_checks(router, self.kind, self.find, self.put)

    async def put(self, desk: ArmDesk, call: Call) -> ArmReply:
        """201 for a new one, else 200, with the resource as it will be and where to follow the operation."""
        async with desk.plane.editing:
            current = self.seek(desk, call)
            headers = await lro.carry_out(desk, call, f"{self.kind}/write", self.order(desk, call, current))
        state = "Creating" if current is None else "Updating"
        shown = self.view(desk, call, self.find(desk, call), state=state)
        return views.reply(201 if current is None else 200, shown, headers)


def every(kind: str) -> str:
    """The path of all resources of a kind in a group."""
    return arm_ids.resource_id(arm_ids.IN_GROUP, kind)


def one(kind: str) -> str:
    """The path of one of them."""
    return arm_ids.resource_id(arm_ids.IN_GROUP, kind, "{name}")


def in_subscription(kind: str) -> str:
    """The path of all resources of a kind in the subscription."""
    return arm_ids.resource_id(arm_ids.IN_SUBSCRIPTION, kind)


def add_checks(router: Router, kind: str, find: Callable[[ArmDesk, Call], object], put: Handler) -> None:
    """PATCH, which is a PUT of what must be there already, and HEAD."""

    async def patch(desk: ArmDesk, call: Call) -> ArmReply:
        find(desk, call)
        return await put(desk, call)

    async def head(desk: ArmDesk, call: Call) -> ArmReply:
        find(desk, call)
        return ArmReply(204)

    router.add("PATCH", one(kind), patch)
    router.add("HEAD", one(kind), head)
