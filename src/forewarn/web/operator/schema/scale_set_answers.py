"""What the operator face answers about scale sets."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from forewarn.web.operator.schema.answers import Answer
from forewarn.web.operator.schema.fleet_answers import (
    BindingAnswer,
    EventAnswer,
    OutcomeAnswer,
    PolicyAnswer,
    VmAnswer,
    next_cursor,
)

_NOON = "2026-01-01T12:00:00Z"


class ScaleSetAnswer(Answer):
    """Instances made from one model. An instance has the version that was applied to it, not the latest one."""

    name: str = Field(description="Its name, unique in the region without regard to case.", examples=["web"])
    resource_group: str = Field(description="Where the Resource Manager shows it.", examples=["forewarn"])
    orchestration: str = Field(description="`Uniform` or `Flexible`.", examples=["Uniform"])
    single_placement_group: bool = Field(description="Whether one group holds all instances.", examples=[False])
    capacity: int = Field(description="How many instances are wanted.", examples=[3])
    instances_total: int = Field(description="How many there are, with those that are on their way out.", examples=[3])
    latest_model_total: int = Field(description="How many of them have the latest model.", examples=[3])
    model: int = Field(description="The version of the latest model.", examples=[1])
    upgrade: str = Field(description="`Manual`, `Automatic` or `Rolling`.", examples=["Manual"])
    scale_in: str = Field(description="`Default`, `NewestVM` or `OldestVM`.", examples=["Default"])
    policy: PolicyAnswer = Field(description="Which events nobody has to approve.")
    binding: BindingAnswer = Field(description="How the metadata face knows its instances: ranges and patterns.")
    terminate_notice_seconds: float | None = Field(
        description="Model: the warning before deletion; null for none.", examples=[600]
    )
    os_image_notice_seconds: float | None = Field(
        description="Model: the warning before a reimage; null for none.", examples=[900]
    )
    spot: bool = Field(description="Model: whether instances may be evicted.", examples=[False])
    eviction_policy: str = Field(description="Model: what becomes of an evicted instance.", examples=["Deallocate"])
    vnet: bool = Field(description="Model: whether instances live in a virtual network.", examples=[True])
    size: str = Field(description="Model: the size of an instance.", examples=["Standard_D2s_v5"])
    os_type: str = Field(description="Model: the system of an instance.", examples=["Linux"])
    tags: dict[str, str] = Field(description="Model: the tags of an instance.", examples=[{"team": "web"}])
    scopes: list[str] = Field(
        description="Its placement groups: the instances of one see the same events.",
        examples=[["placement-group/web~0"]],
    )
    deleting: bool = Field(description="Whether it goes with its last instance.", examples=[False])
    created_at: datetime = Field(description="When it was made.", examples=[_NOON])
    changed_at: datetime | None = Field(description="When the model got its latest version.", examples=[_NOON])


class ScaleSetsAnswer(Answer):
    scale_sets: list[ScaleSetAnswer] = Field(description="By name.")
    next: str | None = next_cursor()


class InstancesAnswer(Answer):
    instances: list[VmAnswer] = Field(description="In the order of their making.")
    next: str | None = next_cursor()
    total: int = Field(description="How many there are in all.", examples=[3])


class ScaleSetStory(ScaleSetAnswer):
    """A scale set, its instances, and what is coming to them."""

    instances: list[VmAnswer] = Field(description="In the order of their making.")
    events: list[EventAnswer] = Field(description="The events of its scopes that have not ended.")


class ScaleSetOutcome(OutcomeAnswer):
    """What came of a request about a whole scale set."""

    created: list[str] = Field(description="The names of the new instances.", examples=[["web_0", "web_1"]])
    scale_set: ScaleSetAnswer | None = Field(description="As it is now; null if it is gone.", examples=[None])
