"""What callers send about scale sets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from forewarn.core.commands import PutScaleSet
from forewarn.core.deciding.scale_sets import CAPACITY_MOST, FAULT_DOMAINS_MOST, put_as_it_is
from forewarn.core.region import ScaleSet, replace
from forewarn.core.specs import (
    DEFAULT_RESOURCE_GROUP,
    BindingPattern,
    EvictionPolicy,
    Orchestration,
    Policy,
    ScaleInRule,
    ScaleSetSpec,
    UpgradeMode,
    VmSpec,
)
from forewarn.web.operator.schema.requests import (
    Body,
    Flag,
    Name,
    OsImageNotice,
    ResourceGroup,
    Tags,
    TerminateNotice,
    duration,
)


class PolicyChangeBody(Body):
    """Which events nobody has to approve. What is left out, or null, stays as it is."""

    auto_approve_reboot: Flag | None = Field(None, description="A user's restart starts at once.", examples=[True])
    auto_approve_redeploy: Flag | None = Field(None, description="A user's redeploy starts at once.", examples=[False])
    all_instances_down: Flag | None = Field(
        None, description="An event whose VMs are all stopped is approved at once.", examples=[True]
    )

    def applied_to(self, policy: Policy) -> Policy:
        return replace(policy, **self.model_dump(exclude_none=True))


class BindingPatternBody(Body):
    """How the metadata face knows the instances by their connections. An empty object unbinds them."""

    address: Name | None = Field(
        None, description="A range of source addresses; each instance gets one.", examples=["10.0.0.0/24"]
    )
    local_address: Name | None = Field(
        None, description="A range of loopback addresses; each instance gets one.", examples=["127.5.0.0/24"]
    )
    netns: Name | None = Field(
        None,
        description="The network namespace of an instance; `{name}` and `{id}` stand for its own.",
        examples=["{name}"],
    )
    interface: Name | None = Field(
        None,
        description="The interface of the namespace that leads to an instance; `{name}` and `{id}` likewise.",
        examples=["tap{id}"],
    )

    def pattern(self) -> BindingPattern:
        return BindingPattern(self.address or "", self.local_address or "", self.netns or "", self.interface or "")


class ScaleSetChangeBody(Body):
    """A scale set. In a change, what is left out stays as it is; the defaults are those of a new set."""

    capacity: int = Field(
        2, strict=True, ge=0, le=CAPACITY_MOST, description="How many instances are wanted.", examples=[3]
    )
    upgrade: Literal["Manual", "Automatic", "Rolling"] = Field(
        "Manual",
        description="Whether instances take over a new model when told to, or by themselves.",
        examples=["Manual"],
    )
    scale_in: Literal["Default", "NewestVM", "OldestVM"] = Field(
        "Default", description="Which instances go first when fewer are wanted.", examples=["OldestVM"]
    )
    policy: PolicyChangeBody = Field(
        default_factory=lambda: PolicyChangeBody.model_validate({}),
        description="Which events nobody has to approve.",
        examples=[{}],
    )
    binding: BindingPatternBody = Field(
        default_factory=lambda: BindingPatternBody.model_validate({}),
        description="How the metadata face knows the instances. A change binds all of them anew.",
        examples=[{"netns": "{name}"}],
    )
    terminate_notice_seconds: TerminateNotice | None = Field(
        None, description="Model: the warning before deletion, 300 to 900; null for none.", examples=[600]
    )
    os_image_notice_seconds: OsImageNotice | None = Field(
        None, description="Model: the warning before a reimage, 900; null for none.", examples=[900]
    )
    spot: Flag = Field(False, description="Model: instances may be evicted.", examples=[False])
    eviction_policy: Literal["Deallocate", "Delete"] = Field(
        "Deallocate", description="Model: what becomes of an evicted instance.", examples=["Deallocate"]
    )
    vnet: Flag = Field(True, description="Model: instances live in a virtual network.", examples=[True])
    size: Name = Field(VmSpec().size, description="Model: told by `/metadata/instance`.", examples=["Standard_D2s_v5"])
    os_type: Literal["Linux", "Windows"] = Field(
        "Linux", description="Model: told by `/metadata/instance`.", examples=["Linux"]
    )
    tags: Tags = Field(
        default_factory=dict, description="Model: told by `/metadata/instance`.", examples=[{"team": "web"}]
    )
    orchestration: Literal["Uniform", "Flexible"] = Field(
        "Uniform",
        description="How instances are named: `web_0`, or as VMs of their own. Cannot be changed.",
        examples=["Uniform"],
    )
    blueprint: Name | None = Field(
        None,
        description="Instances are real machines, made from this blueprint of the server's own region file. Cannot be "
        "changed.",
        examples=["worker"],
    )
    single_placement_group: Flag = Field(
        False, description="All instances in one placement group, 100 at most. Cannot be set later.", examples=[False]
    )
    resource_group: ResourceGroup = Field(
        DEFAULT_RESOURCE_GROUP, description="Where the Resource Manager shows it. Cannot be changed.", examples=["rg1"]
    )

    def model_applied_to(self, spec: VmSpec) -> VmSpec:
        """The model of the instances, changed as far as anything is said about it."""
        said: dict[str, Any] = {
            "terminate_notice": duration(self.terminate_notice_seconds),
            "os_image_notice": duration(self.os_image_notice_seconds),
            "spot": self.spot,
            "eviction_policy": EvictionPolicy(self.eviction_policy),
            "vnet": self.vnet,
            "size": self.size,
            "os_type": self.os_type,
            "tags": tuple(self.tags.items()),
        }
        given = {name.removesuffix("_seconds") for name in self.model_fields_set}
        return replace(spec, **{name: value for name, value in said.items() if name in given})

    def applied_to(self, spec: ScaleSetSpec) -> ScaleSetSpec:
        """What is of the set itself, changed likewise."""
        given = self.model_fields_set
        return replace(
            spec,
            upgrade=UpgradeMode(self.upgrade) if "upgrade" in given else spec.upgrade,
            scale_in=ScaleInRule(self.scale_in) if "scale_in" in given else spec.scale_in,
            policy=self.policy.applied_to(spec.policy),
            binding=self.binding.pattern() if "binding" in given else spec.binding,
        )

    def change_of(self, scale_set: ScaleSet, seed: str) -> PutScaleSet:
        """The scale set, changed as far as anything is said."""
        given = self.model_fields_set
        changes: dict[str, Any] = {
            "resource_group": self.resource_group,
            "orchestration": Orchestration(self.orchestration),
            "single_placement_group": self.single_placement_group,
            "capacity": self.capacity,
        }
        return replace(
            put_as_it_is(scale_set, seed),
            vm_spec=self.model_applied_to(scale_set.vm_spec),
            spec=self.applied_to(scale_set.spec),
            **{name: value for name, value in changes.items() if name in given},
        )


class CreateScaleSetBody(ScaleSetChangeBody):
    """A new scale set and its first instances."""

    name: Name = Field(description="Its name, unique in the region without regard to case.", examples=["web"])
    fault_domains: int = Field(
        0,
        strict=True,
        ge=0,
        le=max(FAULT_DOMAINS_MOST.values()),
        description="How many fault domains each placement group has; 0 for as many as the region.",
        examples=[3],
    )

    def command(self, seed: str) -> PutScaleSet:
        """How to make it."""
        return PutScaleSet(
            name=self.name,
            resource_group=self.resource_group,
            vm_spec=self.model_applied_to(VmSpec()),
            seed=seed,
            spec=self.applied_to(ScaleSetSpec()),
            orchestration=Orchestration(self.orchestration),
            single_placement_group=self.single_placement_group,
            capacity=self.capacity,
            fault_domains=self.fault_domains,
        )


class ScaleBody(Body):
    capacity: int = Field(
        strict=True, ge=0, le=CAPACITY_MOST, description="How many instances are wanted.", examples=[3]
    )


class InstancesBody(Body):
    """Instances of a scale set, all of them where none is named."""

    instances: list[Name] = Field(
        default_factory=list,
        max_length=CAPACITY_MOST,
        description="Ids or names of instances; none means every one.",
        examples=[["0", "web_1"]],
    )


class ChosenInstancesBody(Body):
    """The instances to act on: all of them or, where one is refused, none."""

    instances: list[Name] = Field(
        min_length=1,
        max_length=CAPACITY_MOST,
        description="Ids or names of instances.",
        examples=[["0", "web_1"]],
    )


class ProtectBody(Body):
    instance: Name = Field(description="Id or name of an instance.", examples=["0"])
    protected: Flag = Field(True, description="Whether scale-in shall leave it alone.", examples=[True])
