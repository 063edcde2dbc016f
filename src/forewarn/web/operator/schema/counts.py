"""What the operator face answers about the whole region: counts, and what a search has found."""

from __future__ import annotations

from pydantic import Field

from forewarn.web.operator.schema.answers import Answer


class DomainCount(Answer):
    """The VMs of one update domain in one fault domain."""

    update_domain: int = Field(description="Planned maintenance takes one of these at a time.", examples=[0])
    fault_domain: int = Field(description="What breaks together.", examples=[0])
    vms: int = Field(description="How many VMs.", examples=[66_667])
    not_running: int = Field(description="How many of them do not run.", examples=[3])
    pending: int = Field(description="How many are told of an event that has yet to start.", examples=[1])


class EventCount(Answer):
    """The events of one type in one phase."""

    type: str = Field(description="What they do to their VMs.", examples=["Reboot"])
    phase: str = Field(description="Where they are.", examples=["scheduled"])
    events: int = Field(description="How many.", examples=[4])


class FleetAnswer(Answer):
    """The region in numbers, all of one moment."""

    ready: bool = Field(
        description="False while the counts are made for the first time: only totals of VMs, hosts, sets, scopes and "
        "campaigns are right then.",
        examples=[True],
    )
    share: float = Field(description="How far the counting is, from 0 to 1.", examples=[1.0])
    seq: int = Field(description="The number of the last record that is counted.", examples=[57])
    vms_total: int = Field(description="How many VMs there are.", examples=[1_000_000])
    hosts_total: int = Field(description="How many hosts there are.", examples=[50_000])
    scale_sets_total: int = Field(description="How many scale sets there are.", examples=[2])
    scopes_total: int = Field(
        description="How many scopes there are; a lone VM that nobody has read for is none.", examples=[12]
    )
    campaigns_total: int = Field(description="How many campaigns there were and are.", examples=[1])
    power: dict[str, int] = Field(
        description="VMs by what they are doing.", examples=[{"running": 998_790, "frozen": 1_200, "deallocated": 10}]
    )
    kinds: dict[str, int] = Field(
        description="VMs by the kind of their scope.", examples=[{"vm": 999_990, "availability-set": 10}]
    )
    spot: int = Field(description="How many are Spot VMs.", examples=[0])
    pending: int = Field(description="How many VMs are told of an event that has yet to start.", examples=[4])
    domains: list[DomainCount] = Field(description="VMs by update domain and fault domain.")
    health: dict[str, int] = Field(
        description="Hosts by health.", examples=[{"healthy": 49_998, "failing": 2, "failed": 0}]
    )
    hosts_with_work: int = Field(description="Hosts with work that has not ended.", examples=[1])
    hosts_with_vms_down: int = Field(description="Hosts with VMs that do not run.", examples=[2])
    events_total: int = Field(description="Events that documents show.", examples=[4])
    events: list[EventCount] = Field(description="The same by type and phase.")


class FoundThing(Answer):
    """One thing that a search has found."""

    kind: str = Field(
        description="`vm`, `scale-set`, `availability-set`, `cloud-service`, `host`, `event` or `campaign`.",
        examples=["vm"],
    )
    name: str = Field(description="What it is called.", examples=["web-0"])
    id: str = Field(description="By what the API knows it.", examples=["web-0"])
    about: str = Field(description="What it is, in a few words.", examples=["running, availability-set/front"])


class SearchAnswer(Answer):
    found: list[FoundThing] = Field(
        description="What is called exactly so, then what begins so, then what has it anywhere."
    )
    more: bool = Field(description="Whether there is more than was asked for.", examples=[False])
    ready: bool = Field(
        description="False while the register of names is made for the first time: only exact names are found then.",
        examples=[True],
    )
    share: float = Field(description="How far that is, from 0 to 1.", examples=[1.0])
