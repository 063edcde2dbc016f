"""What someone asks. A command may be refused; then nothing has changed. Ids are minted at the rim and carried here."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from forewarn.core.causes import Cause
from forewarn.core.region import Binding, Policy, VmSpec


class CreateVms(Struct, frozen=True):
    """Make VMs that share a specification. ``seed`` is a fresh GUID."""

    names: tuple[str, ...]
    spec: VmSpec
    seed: str
    binding: Binding | None = None  # only with a single name


class BindVm(Struct, frozen=True):
    vm: str
    binding: Binding


class DeleteVms(Struct, frozen=True):
    """Delete; a VM with a terminate notice in an enabled scope gets a Terminate event first. ``seed`` is fresh."""

    vms: tuple[str, ...]
    seed: str


class RestartVms(Struct, frozen=True):
    vms: tuple[str, ...]
    seed: str


class RedeployVms(Struct, frozen=True):
    vms: tuple[str, ...]
    seed: str


class EvictVms(Struct, frozen=True):
    vms: tuple[str, ...]
    seed: str


class DeallocateVms(Struct, frozen=True):
    vms: tuple[str, ...]


class StartVms(Struct, frozen=True):
    vms: tuple[str, ...]


class SetPolicy(Struct, frozen=True):
    scope: str
    policy: Policy


class MaintainHosts(Struct, frozen=True):
    """One event for each scope on each host. An empty ``hosts`` means every host."""

    hosts: tuple[str, ...]
    cause: Cause
    seed: str


class FailHosts(Struct, frozen=True):
    """The hosts break now: events born started, VMs rebuilt elsewhere."""

    hosts: tuple[str, ...]
    seed: str


class StartCampaign(Struct, frozen=True):
    """Walk the update domains of the chosen hosts (all where both selections are empty)."""

    id: str
    cause: Cause
    hosts: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    hosts_at_once: int = 0


class PauseCampaign(Struct, frozen=True):
    id: str


class ResumeCampaign(Struct, frozen=True):
    id: str


class CancelCampaign(Struct, frozen=True):
    id: str


class Approve(Struct, frozen=True):
    """Let events start; all of them or none. ``scope`` limits what the caller may name, None is the operator."""

    event_ids: tuple[str, ...]
    by: str
    scope: str | None = None
    ignore_unknown: bool = False


class CancelEvents(Struct, frozen=True):
    event_ids: tuple[str, ...]
    why: str


class Pulse(Struct, frozen=True):
    """VMs have read their documents: (VM key, when)."""

    reads: tuple[tuple[str, datetime], ...]


class BeginImpact(Struct, frozen=True):
    """A driver has taken an event in hand; ``ends_at`` where it knows when it will be done."""

    event_id: str
    ends_at: datetime | None = None


class EndImpact(Struct, frozen=True):
    """A driver reports that the machines are back (or gone, as the effect wants)."""

    event_id: str


class Tick(Struct, frozen=True):
    """Time has passed; do what is due. ``moved``: a turnable clock was set to ``now``, and that is worth keeping."""

    moved: bool = False


Command: TypeAlias = (
    CreateVms
    | BindVm
    | DeleteVms
    | RestartVms
    | RedeployVms
    | EvictVms
    | DeallocateVms
    | StartVms
    | SetPolicy
    | MaintainHosts
    | FailHosts
    | StartCampaign
    | PauseCampaign
    | ResumeCampaign
    | CancelCampaign
    | Approve
    | CancelEvents
    | Pulse
    | BeginImpact
    | EndImpact
    | Tick
)
