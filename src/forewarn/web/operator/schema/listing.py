"""What callers ask lists for: which part, and which things. Each filter has the name that a person types."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from forewarn.web.operator.schema.requests import Body, Instant, Page

PowerName = Literal[
    "running",
    "stopped",
    "frozen",
    "restarting",
    "redeploying",
    "evicting",
    "deleting",
    "reimaging",
    "deallocated",
]
TypeName = Literal["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]
PhaseName = Literal["scheduled", "approved", "started", "completed", "canceled"]
ScopeKindName = Literal["vm", "availability-set", "cloud-service", "placement-group"]
HealthName = Literal["healthy", "failing", "failed", "silent", "fenced", "draining", "left"]


def _check_part(given: str) -> str:
    if not given.isprintable():
        raise ValueError("write letters, digits and signs; no name holds a control character")
    return given


Part = Annotated[str, Field(max_length=256), AfterValidator(_check_part)]
Domain = Annotated[int, Field(ge=0, le=10**6)]


class Ordered(Page):
    """Which part of a list that can be read from either end."""

    reverse: bool = Field(False, description="From the last one to the first.", examples=[False])


class VmPage(Ordered):
    """Which VMs. All that is given must hold."""

    scope: str = Field("", max_length=512, description="Only of this scope.", examples=["availability-set/front"])
    name: Part = Field("", description="Only those with this in their name.", examples=["web"])
    power: PowerName | None = Field(None, description="Only those that do this.", examples=["stopped"])
    ud: Domain | None = Field(None, description="Only of this update domain.", examples=[2])
    fd: Domain | None = Field(None, description="Only of this fault domain.", examples=[1])
    host: str = Field("", max_length=256, description="Only those that live on this host.", examples=["host-7"])
    spot: bool | None = Field(None, description="Only Spot VMs, or only others.", examples=[True])
    pending: bool | None = Field(
        None, description="Only those that are told of an event that has yet to start, or only others.", examples=[True]
    )


class EventPage(Ordered):
    """Which events. All that is given must hold."""

    scope: str = Field("", max_length=512, description="Only of this scope.", examples=["availability-set/front"])
    vm: str = Field("", max_length=256, description="Only those that name this VM.", examples=["web-0"])
    host: str = Field("", max_length=256, description="Only of this host's work.", examples=["host-7"])
    type: TypeName | None = Field(None, description="Only of this type.", examples=["Reboot"])
    phase: PhaseName | None = Field(None, description="Only in this phase.", examples=["scheduled"])
    source: Literal["Platform", "User"] | None = Field(None, description="Only from here.", examples=["User"])
    campaign: str = Field(
        "",
        max_length=64,
        description="Only of this campaign.",
        examples=["4CAEA225-A741-474D-A72E-428C86FCD853"],
    )
    order: Literal["scheduled", "not_before"] = Field(
        "scheduled",
        description="By when they were scheduled, oldest first; or by `NotBefore`, soonest first.",
        examples=["not_before"],
    )
    since: Instant | None = Field(
        None,
        description="Also those that have ended; of all, those to which something happened at this instant or later.",
        examples=["2026-01-01T10:00:00Z"],
    )
    until: Instant | None = Field(
        None,
        description="Also those that have ended; of all, those to which something happened until then.",
        examples=["2026-01-01T12:00:00Z"],
    )


class ScopePage(Ordered):
    """Which scopes. All that is given must hold."""

    kind: ScopeKindName | None = Field(None, description="Only of this kind.", examples=["availability-set"])
    name: Part = Field("", description="Only those with this in their name.", examples=["front"])
    enabled: bool | None = Field(
        None, description="Only those for which somebody reads, or only others.", examples=[True]
    )


class HostPage(Ordered):
    """Which hosts. All that is given must hold."""

    health: HealthName | None = Field(None, description="Only in this health.", examples=["failing"])
    work: bool | None = Field(
        None, description="Only those with work that has not ended, or only others.", examples=[True]
    )
    down: bool | None = Field(None, description="Only those with VMs that do not run, or only others.", examples=[True])
    ud: Domain | None = Field(None, description="Only of this update domain.", examples=[2])
    fd: Domain | None = Field(None, description="Only of this fault domain.", examples=[1])


class SearchQuery(Body):
    """What to look for."""

    q: Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_check_part)] = Field(
        description="A part of a name or of an id, without regard to case.", examples=["web"]
    )
    limit: int = Field(20, ge=1, le=100, description="At most so many.", examples=[20])
