"""What callers send. Unknown fields are refused: a misspelled one would otherwise be ignored without a word."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from forewarn.core.deciding.bindings import INTERFACE_PATTERN, NETNS_PATTERN
from forewarn.core.deciding.fleet import OS_IMAGE_NOTICE, TERMINATE_NOTICE
from forewarn.core.specs import DEFAULT_RESOURCE_GROUP, NO_BINDING, Binding

MOST_NAMES = 10_000  # ours: bounds what is checked, and written, in one go
MOST_SECONDS = 100 * 365 * 86_400.0  # a hundred years: more than any notice, and sums of it still are dates
_GROUP = re.compile(r"[A-Za-z0-9_().-]{0,89}[A-Za-z0-9_()-]")

Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=256, examples=["web-0"])]
Names = Annotated[list[Name], Field(min_length=1, max_length=MOST_NAMES, examples=[["web-0", "web-1"]])]
Id = Annotated[str, Field(min_length=1, max_length=64, examples=["4CAEA225-A741-474D-A72E-428C86FCD853"])]
Tags = Annotated[
    dict[Annotated[str, Field(max_length=512)], Annotated[str, Field(max_length=256)]], Field(max_length=50)
]
_Notice = Annotated[float, Field(strict=True, gt=0, le=MOST_SECONDS, allow_inf_nan=False)]
# The core has the rule and the sentence; the schema tells the bounds of it.
TerminateNotice = Annotated[
    _Notice,
    Field(
        json_schema_extra={
            "minimum": TERMINATE_NOTICE[0].total_seconds(),
            "maximum": TERMINATE_NOTICE[1].total_seconds(),
        }
    ),
]
OsImageNotice = Annotated[
    _Notice,
    Field(json_schema_extra={"minimum": OS_IMAGE_NOTICE.total_seconds(), "maximum": OS_IMAGE_NOTICE.total_seconds()}),
]
NamespaceName = Annotated[Name, Field(json_schema_extra={"pattern": f"^{NETNS_PATTERN}$"})]
InterfaceName = Annotated[Name, Field(json_schema_extra={"pattern": f"^{INTERFACE_PATTERN}$"})]
Maintenance = Literal["freeze", "live-migration", "network", "reboot", "redeploy", "predicted-failure"]
Door = Literal["portal", "operator", "resource-manager", "vm", "clock", "driver"]
FaultKind = Literal["gone", "throttled", "error", "empty", "delay", "drop", "skip"]


def _check_group(given: str) -> str:
    """As Azure names resource groups: nothing else could be asked for through the Resource Manager."""
    if not _GROUP.fullmatch(given):
        raise ValueError("use 1 to 90 letters, digits, '.', '_', '-', '(' and ')', and no '.' at the end")
    return given


ResourceGroup = Annotated[str, AfterValidator(_check_group)]


def _read_instant(given: object) -> datetime:
    """ISO 8601 and nothing else: a bare number could be anything."""
    if not isinstance(given, str):
        raise ValueError("write an instant as text, like 2026-01-01T12:15:00Z")
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise ValueError("write an instant in ISO 8601, like 2026-01-01T12:15:00Z") from None


Instant = Annotated[AwareDatetime, BeforeValidator(_read_instant)]


def duration(seconds: float | None) -> timedelta | None:
    """A number of seconds as what the core counts in."""
    return None if seconds is None else timedelta(seconds=seconds)


class Body(BaseModel):
    """What every body shares."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class BindingBody(Body):
    """How the metadata face knows a VM by its connection. What is left out is not a part of it."""

    address: Name | None = Field(
        None, description="The source address by which the metadata face knows it.", examples=["10.0.0.4"]
    )
    local_address: Name | None = Field(
        None, description="The loopback address that it calls the metadata face by.", examples=["127.1.0.4"]
    )
    netns: NamespaceName | None = Field(None, description="The network namespace it lives in.", examples=["web-0"])
    interface: InterfaceName | None = Field(
        None,
        description="The interface of the namespace that leads to the VM, where it is at the other end of one.",
        examples=["tap0"],
    )

    unix: NamespaceName | None = Field(
        None,
        description="The name of a Unix socket of its own, in a directory that the server chooses; never a path.",
        examples=["web-0"],
    )

    def binding(self) -> Binding:
        said = (self.address, self.local_address, self.netns, self.interface, self.unix)
        return Binding(*(each or "" for each in said))

    def binding_or_none(self) -> Binding | None:
        return None if self.binding() == NO_BINDING else self.binding()


class BindBody(BindingBody):
    """The whole binding of a VM, in place of the one it has."""

    @model_validator(mode="after")
    def _say_something(self) -> Self:
        if not self.binding().claims():
            raise ValueError("give at least one of address, local_address, netns and unix")
        return self


class CreateVmsBody(BindingBody):
    """VMs that share a specification. One is called `name`; more are called `name-first`, `name-(first+1)`, …"""

    name: Name = Field(description="The name of one VM, or what the names of several begin with.", examples=["web"])
    count: int = Field(1, strict=True, ge=1, le=MOST_NAMES, description="How many.", examples=[3])
    numbered: Flag = Field(False, description="Number the names even if there is only one.", examples=[False])
    first: int = Field(
        0,
        strict=True,
        ge=0,
        le=10**9,
        description="The first number, so that many can be made in chunks.",
        examples=[0],
    )
    availability_set: Name | None = Field(None, description="Put them into this set.", examples=["front"])
    cloud_service: Name | None = Field(
        None, description="Make them instances of a role of this service.", examples=["shop"]
    )
    role: Name | None = Field(None, description="The role within the cloud service.", examples=["FrontEnd"])
    spot: Flag = Field(False, description="They may be evicted.", examples=[False])
    eviction_policy: Literal["Deallocate", "Delete"] = Field(
        "Deallocate", description="What becomes of an evicted VM.", examples=["Deallocate"]
    )
    vnet: Flag = Field(True, description="They live in a virtual network.", examples=[True])
    terminate_notice_seconds: TerminateNotice | None = Field(
        None, description="The warning before deletion, for VMs that want one: 300 to 900.", examples=[300]
    )
    os_image_notice_seconds: OsImageNotice | None = Field(
        None, description="The warning before a reimage, for VMs that want one: 900.", examples=[900]
    )
    size: Name | None = Field(None, description="Told by `/metadata/instance`.", examples=["Standard_D2s_v5"])
    os_type: Literal["Linux", "Windows"] | None = Field(
        None, description="Told by `/metadata/instance`.", examples=["Linux"]
    )
    tags: Tags = Field(default_factory=dict, description="Told by `/metadata/instance`.", examples=[{"team": "web"}])
    resource_group: ResourceGroup = Field(
        DEFAULT_RESOURCE_GROUP, description="Where the Resource Manager shows them.", examples=["rg1"]
    )
    read: Flag = Field(
        False, description="Each of them reads its document at once, which enables its scope.", examples=[False]
    )
    blueprint: Name | None = Field(
        None,
        description="Make real machines from this blueprint of the server's own region file.",
        examples=["worker"],
    )
    host: Name | None = Field(None, description="Make them here; else where there is room.", examples=["rack-1"])

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if self.availability_set and self.cloud_service:
            raise ValueError("choose one of availability_set and cloud_service: a VM is in one set at most")
        if self.role and not self.cloud_service:
            raise ValueError("role goes with cloud_service: name the service too")
        if self.cloud_service and not self.role:
            raise ValueError("cloud_service goes with role: name the role too")
        if self.count > 1 and self.binding_or_none():
            raise ValueError(
                "address, local_address, netns and interface belong to a single VM: leave them out or ask for one"
            )
        return self

    def names(self) -> tuple[str, ...]:
        """What the new VMs are called."""
        if self.count == 1 and not self.numbered:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(self.first, self.first + self.count))


class NamesBody(Body):
    """The VMs to act on: all of them or, where one is refused, none."""

    names: Names = Field(description="Names of VMs.")


class PolicyBody(Body):
    """The whole policy: what is left out goes back to its default."""

    auto_approve_reboot: Flag = Field(False, description="A user's restart starts at once.", examples=[True])
    auto_approve_redeploy: Flag = Field(False, description="A user's redeploy starts at once.", examples=[False])
    all_instances_down: Flag = Field(
        True, description="An event whose VMs are all stopped is approved at once.", examples=[True]
    )


class MaintainBody(Body):
    hosts: list[Name] = Field(
        default_factory=list,
        max_length=MOST_NAMES,
        description="Which hosts; none means every one.",
        examples=[["host-0"]],
    )
    kind: Maintenance = Field(description="What is done to them.", examples=["freeze"])


class FailBody(Body):
    hosts: list[Name] = Field(
        min_length=1, max_length=MOST_NAMES, description="The hosts that break now.", examples=[["host-0"]]
    )


class CampaignBody(Body):
    kind: Maintenance = Field(description="What is done to the hosts.", examples=["freeze"])
    hosts: list[Name] = Field(
        default_factory=list, max_length=MOST_NAMES, description="Only these hosts.", examples=[["host-0", "host-1"]]
    )
    scopes: list[Name] = Field(
        default_factory=list,
        max_length=MOST_NAMES,
        description="Only the hosts of these scopes.",
        examples=[["availability-set/front"]],
    )
    hosts_at_once: int | None = Field(
        None,
        strict=True,
        ge=1,
        le=10**6,
        description="How many hosts of a wave go at once; all if left out.",
        examples=[2],
    )


class EventIdsBody(Body):
    """The events to act on: all of them or, where one is refused, none."""

    ids: list[Id] = Field(
        min_length=1,
        max_length=MOST_NAMES,
        description="Ids of events.",
        examples=[["4CAEA225-A741-474D-A72E-428C86FCD853"]],
    )


class AdvanceBody(Body):
    seconds: float = Field(
        strict=True, ge=0, le=MOST_SECONDS, allow_inf_nan=False, description="How far to go.", examples=[900]
    )


class InstantBody(Body):
    instant: Instant = Field(
        description="Where to go: ISO 8601 with Z or an offset.", examples=["2026-01-01T12:15:00Z"]
    )


class SpeedBody(Body):
    speed: float = Field(
        strict=True,
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
        description="Region seconds in one real second.",
        examples=[60],
    )


class NothingBody(Body):
    """An empty object: there is nothing to say."""


class FaultBody(Body):
    """What shall go wrong between the metadata face and its callers."""

    kind: FaultKind = Field(
        description="`gone` 410, `throttled` 429, `error` 500, `empty` an empty 200, `delay` a late answer, "
        "`drop` a closed connection, `skip` an incarnation left out.",
        examples=["throttled"],
    )
    vms: list[Name] = Field(
        default_factory=list,
        max_length=MOST_NAMES,
        description="Whose answers; none means everybody's.",
        examples=[["web-0"]],
    )
    times: int | None = Field(
        None, strict=True, ge=1, le=10**9, description="How many answers in all; no limit if left out.", examples=[3]
    )
    share: float | None = Field(
        None, strict=True, gt=0, le=1, allow_inf_nan=False, description="Which share of the answers.", examples=[0.25]
    )
    delay_seconds: float = Field(
        0.0,
        strict=True,
        ge=0,
        le=3600,
        allow_inf_nan=False,
        description="How long a `delay` holds an answer back, in real time.",
        examples=[2.5],
    )


class Page(Body):
    """Which part of a list."""

    after: str = Field("", max_length=512, description="The `next` of the page before.", examples=["web-0"])
    limit: int = Field(1000, ge=1, le=10_000, description="At most so many.", examples=[1000])


class ActivityPage(Body):
    after: int | None = Field(
        None,
        ge=0,
        le=2**62,
        description="The number of the last record you have; the newest activity if left out.",
        examples=[56],
    )
    limit: int = Field(500, ge=1, le=10_000, description="At most so many.", examples=[500])
    door: Door | None = Field(None, description="Only what came in this way.", examples=["resource-manager"])
    about: str = Field(
        "",
        max_length=512,
        description="Only about this: the name of a VM, scale set or host, a scope, an id.",
        examples=["web-0"],
    )
    who: str = Field("", max_length=256, description="Only what this one did, as `who` names it.", examples=["anna"])
    since: Instant | None = Field(
        None, description="Only what was done at this instant or later.", examples=["2026-01-01T10:00:00Z"]
    )
    until: Instant | None = Field(
        None, description="Only what was done until this instant.", examples=["2026-01-01T12:00:00Z"]
    )
    fold: bool = Field(
        False,
        description="Tell like requests that follow each other as one, with their number as `times`.",
        examples=[True],
    )
