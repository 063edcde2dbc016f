"""What the operator face answers about the region: VMs, scopes, hosts, events, campaigns, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from forewarn.web.operator.schema.answers import Answer, CommandAnswer
from forewarn.web.operator.schema.machines import ErrandAnswer, MachineAnswer

_GUID = "4CAEA225-A741-474D-A72E-428C86FCD853"
_NOON = "2026-01-01T12:00:00Z"


def next_cursor() -> str | None:
    """The cursor that every list carries."""
    found: str | None = Field(description="Pass this as `after` to go on; null on the last page.", examples=["web-0"])
    return found


class ChosenAnswer(Answer):
    """What every list of things that can be chosen from very many carries. A page may be short and still go on."""

    next: str | None = next_cursor()
    looked_at: int = Field(description="How many were looked at for this page.", examples=[20_000])
    total: int = Field(description="How many there are in all, whether they fit or not.", examples=[1_000_000])


class BindingAnswer(Answer):
    """How the metadata face knows the VM by its connection."""

    address: str = Field(description="The source address it calls from; empty if none.", examples=["10.0.0.4"])
    local_address: str = Field(description="The loopback address it calls; empty if none.", examples=["127.1.0.4"])
    netns: str = Field(description="The network namespace it lives in; empty if none.", examples=["web-0"])
    interface: str = Field(
        description="The interface of the namespace that leads to it; empty if it lives inside.", examples=["tap0"]
    )
    unix: str = Field(description="The name of its Unix socket; empty if none.", examples=["web-0"])


class VmAnswer(Answer):
    """One virtual machine."""

    name: str = Field(description="Its name, unique in the region without regard to case.", examples=["web-0"])
    resource_name: str = Field(description="Its name in documents.", examples=["web-0"])
    vm_id: str = Field(description="Its GUID.", examples=[_GUID.lower()])
    scope: str = Field(description="Whose events it sees and may approve.", examples=["availability-set/front"])
    power: str = Field(description="What it is doing.", examples=["running"])
    host: str | None = Field(description="Where it lives; null while deallocated.", examples=["host-0"])
    update_domain: int = Field(description="Planned maintenance takes one of these at a time.", examples=[0])
    fault_domain: int = Field(description="What breaks together.", examples=[0])
    spot: bool = Field(description="Whether it may be evicted.", examples=[False])
    eviction_policy: str = Field(description="What becomes of it when evicted.", examples=["Deallocate"])
    vnet: bool = Field(description="Whether it lives in a virtual network.", examples=[True])
    boots: int = Field(description="How many times it has been started.", examples=[1])
    ephemeral_disks: int = Field(description="How many ephemeral disks it has had.", examples=[1])
    terminate_notice_seconds: float | None = Field(
        description="The warning it gets before deletion; null for none.", examples=[300]
    )
    os_image_notice_seconds: float | None = Field(
        description="The warning it gets before a reimage; null for none.", examples=[900]
    )
    scale_set: str | None = Field(description="The scale set it is an instance of; null for none.", examples=["web"])
    instance_id: str | None = Field(
        description="Its id there: a number, or its name where orchestration is flexible.", examples=["0"]
    )
    model: int | None = Field(description="The version of the set's model that it has.", examples=[1])
    latest_model: bool | None = Field(description="Whether that is the latest one.", examples=[True])
    protected: bool = Field(description="Whether scale-in leaves it alone.", examples=[False])
    resource_group: str = Field(description="Where the Resource Manager shows it.", examples=["forewarn"])
    size: str = Field(description="Its size, as `/metadata/instance` tells.", examples=["Standard_D2s_v5"])
    os_type: str = Field(description="Its system, as `/metadata/instance` tells.", examples=["Linux"])
    tags: dict[str, str] = Field(description="Its tags.", examples=[{"team": "web"}])
    created_at: datetime = Field(description="When it was made.", examples=[_NOON])
    binding: BindingAnswer = Field(description="How the metadata face knows it by its connection.")
    machine: MachineAnswer | None = Field(
        description="The real machine that it is; null where it is only pretended.", examples=[None]
    )


class EventAnswer(Answer):
    """One scheduled event with all that is known about it, more than any document tells."""

    id: str = Field(description="Its GUID, the same for its whole life.", examples=[_GUID])
    type: str = Field(description="What it does to its VMs.", examples=["Reboot"])
    source: str = Field(description="`Platform` or `User`.", examples=["User"])
    cause: str = Field(description="Why it happens.", examples=["user-restart"])
    phase: str = Field(
        description="`scheduled`, `approved`, `started`, and at the end `completed` or `canceled`.",
        examples=["scheduled"],
    )
    announced: bool = Field(
        description="False for work done where nobody reads scheduled events, so that no document ever told of it.",
        examples=[True],
    )
    scope: str = Field(description="Who sees it and may approve it.", examples=["availability-set/front"])
    vms: list[str] = Field(description="Whom it hits.", examples=[["web-0"]])
    resources: list[str] = Field(description="The same, as documents name them.", examples=[["web-0"]])
    update_domain: int = Field(description="The one update domain of its VMs.", examples=[0])
    host: str | None = Field(description="The host whose work it is; null if it is not a host's.", examples=["host-0"])
    description: str = Field(
        description="As documents tell it.",
        examples=["Virtual machine is going to be restarted as requested by authorized user."],
    )
    duration_seconds: int = Field(description="The interruption announced; -1 is unknown.", examples=[-1])
    scheduled_at: datetime = Field(description="When it was scheduled.", examples=[_NOON])
    not_before: datetime = Field(
        description="When it starts at the latest, approved or not.", examples=["2026-01-01T12:15:00Z"]
    )
    approved_at: datetime | None = Field(description="When it was approved; null if it was not.", examples=[_NOON])
    approved_by: str | None = Field(description="Who approved it; null if nobody did.", examples=["web-0"])
    started_at: datetime | None = Field(description="When it started; null before.", examples=[_NOON])
    impact_began_at: datetime | None = Field(description="When its VMs began to feel it.", examples=[_NOON])
    impact_ends_at: datetime | None = Field(description="When they will be back, where known.", examples=[_NOON])
    impact_ended_at: datetime | None = Field(description="When they were back.", examples=[_NOON])
    campaign: str | None = Field(description="The campaign that scheduled it; null for none.", examples=[_GUID])
    awaited: list[str] = Field(
        description="The other events that go together with it and are neither approved nor due: they hold it back.",
        examples=[[]],
    )


class TimelineEntry(Answer):
    """One step in the life of an event."""

    at: datetime = Field(description="When, in the time of the region.", examples=[_NOON])
    fact: str = Field(description="What happened, as the journal calls it.", examples=["EventApproved"])
    by: str = Field(description="Who brought it about.", examples=["vm web-0"])
    text: str = Field(description="The same as a sentence.", examples=["Approved by web-0."])


class EventStory(EventAnswer):
    """An event and how it came to be where it is."""

    in_time: bool | None = Field(
        description="Whether somebody approved it before NotBefore, for tests in any language to assert; null while "
        "that is still open.",
        examples=[True],
    )
    timeline: list[TimelineEntry] = Field(description="Every step so far, oldest first.")
    errands: list[ErrandAnswer] = Field(
        description="What was asked of engines for it, in this order; given-up ones too. Empty for pretended VMs."
    )


class EventsAnswer(ChosenAnswer):
    events: list[EventAnswer] = Field(description="Announced and not ended, in the order that was asked for.")


class VmStory(VmAnswer):
    """A VM and what is coming to it."""

    events: list[EventAnswer] = Field(description="The events that name it and have not ended.")
    shared_address: str = Field(
        description="A sentence where another VM's network interface has the same address; empty otherwise.",
        examples=["not bound to 10.0.0.4, which its network interface has: VM 'web-0' is"],
    )


class VmsAnswer(ChosenAnswer):
    vms: list[VmAnswer] = Field(description="By name.")


class VmChanged(VmAnswer, CommandAnswer):
    """A VM after it was changed."""


class ReadAnswer(CommandAnswer):
    """What a VM has read."""

    vm: str = Field(description="Who has read.", examples=["web-0"])
    scope: str = Field(description="Whose document it is.", examples=["availability-set/front"])
    enabled: bool = Field(
        description="Whether this read enabled the scope: from here on its events wait.", examples=[True]
    )
    api_version: str = Field(description="The form of the document.", examples=["2020-07-01"])
    document: dict[str, Any] = Field(
        description="The document as the metadata face tells it when neither a lag nor a fault rule is in the way.",
        examples=[{"DocumentIncarnation": 1, "Events": []}],
    )


class CreatedAnswer(CommandAnswer):
    created: list[str] = Field(description="The names of the new VMs.", examples=[["web-0", "web-1", "web-2"]])


class PolicyAnswer(Answer):
    """Which events nobody has to approve."""

    auto_approve_reboot: bool = Field(description="A user's restart starts at once.", examples=[False])
    auto_approve_redeploy: bool = Field(description="A user's redeploy starts at once.", examples=[False])
    all_instances_down: bool = Field(
        description="An event whose VMs are all stopped is approved at once.", examples=[True]
    )


class WatchedReadAnswer(Answer):
    """One read of a VM's document at this node, as it was answered."""

    at: datetime = Field(description="When, in the time of the region.", examples=[_NOON])
    seconds_ago: float = Field(description="The same in real seconds before this answer.", examples=[4.0])
    api_version: str = Field(description="The api-version that it asked for.", examples=["2020-07-01"])
    status: int = Field(description="200, 304 where the reader had it already, or what went wrong.", examples=[200])
    incarnation: int | None = Field(
        description="The incarnation of the document; null where the answer had none.", examples=[3]
    )
    client: str = Field(description="What the client says of itself in `User-Agent`; or nothing.", examples=["curl/8"])


class WatchedReadsAnswer(Answer):
    reads: list[WatchedReadAnswer] = Field(description="The last 20 since the VM is watched, newest first.")
    seconds_watched: float = Field(
        description="For so long after this request reads are noted; ask again before that.", examples=[60.0]
    )


class ScopeAnswer(Answer):
    """Who sees a document and may approve what is in it."""

    key: str = Field(description="Its identity: kind and name.", examples=["availability-set/front"])
    kind: str = Field(
        description="`vm`, `availability-set`, `cloud-service` or `placement-group`.", examples=["availability-set"]
    )
    name: str = Field(description="The name of the set or of the lone VM.", examples=["front"])
    resource_group: str = Field(description="Where the Resource Manager shows it.", examples=["forewarn"])
    enabled_at: datetime | None = Field(
        description="Since when its events wait; null while nobody reads for it.", examples=[_NOON]
    )
    last_read_at: datetime | None = Field(
        description="When somebody last read, as far as the journal knows (to within an hour).", examples=[_NOON]
    )
    incarnation: int = Field(description="Grows whenever the events of its document change.", examples=[3])
    vms: int = Field(description="How many VMs belong to it.", examples=[3])
    events: list[str] = Field(description="The ids in its document, oldest first.", examples=[[_GUID]])
    policy: PolicyAnswer = Field(description="Which events nobody has to approve.")


class ScopeChanged(ScopeAnswer, CommandAnswer):
    """A scope after it was changed."""


class ScopesAnswer(ChosenAnswer):
    scopes: list[ScopeAnswer] = Field(description="By key. A lone VM that nobody has read for is not listed.")


class HostAnswer(Answer):
    """One machine of the platform."""

    name: str = Field(description="Its name.", examples=["host-0"])
    fault_domain: int = Field(description="What breaks together.", examples=[0])
    update_domain: int = Field(description="Planned maintenance takes one of these at a time.", examples=[0])
    health: str = Field(
        description="`healthy`, `failing` or `failed`; of real hosts also `draining`, `silent`, `fenced` and `left`.",
        examples=["healthy"],
    )
    engine: str | None = Field(description="What runs its machines; null for a pretended host.", examples=[None])
    capacity: int = Field(description="VMs that fit there.", examples=[20])
    vms: list[str] = Field(description="The VMs that live on it.", examples=[["web-0", "web-5"]])


class HostsAnswer(ChosenAnswer):
    hosts: list[HostAnswer] = Field(description="By number.")


class CampaignHosts(Answer):
    """How far a campaign has come with its hosts."""

    total: int = Field(description="How many hosts it is about.", examples=[20])
    done: int = Field(description="Hosts that it is done with; one without VMs counts as done.", examples=[3])
    working: int = Field(description="Hosts with events that have not ended.", examples=[1])
    left: int = Field(description="Hosts whose turn is yet to come.", examples=[16])


class CampaignAnswer(Answer):
    """Maintenance over a fleet, one update domain at a time."""

    id: str = Field(description="Its GUID.", examples=[_GUID])
    kind: str = Field(description="What is done to the hosts.", examples=["freeze"])
    state: str = Field(description="`running`, `paused`, `completed` or `canceled`.", examples=["running"])
    wave: int = Field(description="The update domain whose turn it is; -1 before the first.", examples=[0])
    wave_number: int = Field(description="Which wave that is, counted from 1; 0 before the first.", examples=[1])
    waves_total: int = Field(description="How many update domains its hosts have.", examples=[5])
    next_wave: int | None = Field(
        description="The update domain whose turn comes when the open events are gone; null where none is left.",
        examples=[1],
    )
    hosts: CampaignHosts = Field(description="How many of its hosts are done and left.")
    hosts_waiting: int = Field(description="Hosts of this wave whose turn has not come.", examples=[2])
    waits_for: str = Field(
        "",
        description="Other work that must end before its next host is taken, as a sentence; empty where none must.",
        examples=[f"host-1 waits for event {_GUID}: it has update domain 0 of availability-set/front open."],
    )
    open_events: list[str] = Field(description="Its events that have not ended, 1000 at most.", examples=[[_GUID]])
    open_events_total: int = Field(description="How many events have not ended.", examples=[1])
    open_events_by_phase: dict[str, int] = Field(
        description="The same by phase: `scheduled`, `approved`, `started`.", examples=[{"scheduled": 1}]
    )
    open_events_start_by: datetime | None = Field(
        description="When the last of those that wait will have started, approved or not; null where none waits.",
        examples=[_NOON],
    )
    events_total: int = Field(description="How many events it has scheduled so far.", examples=[4])
    started_at: datetime = Field(description="When it was started.", examples=[_NOON])
    ended_at: datetime | None = Field(description="When it ended; null before.", examples=[_NOON])


class CampaignWave(Answer):
    """The hosts of one update domain, which have their turn together."""

    update_domain: int = Field(description="Which update domain.", examples=[0])
    hosts: int = Field(description="How many of the campaign's hosts it has.", examples=[2])
    vms: int = Field(description="How many VMs live on them now.", examples=[7])
    state: str = Field(
        description="`done`, `now` or `to come`; `left out` once the campaign is canceled.", examples=["now"]
    )


class SlowestEvent(Answer):
    """The open event of a campaign that is awaited longest if nobody acts."""

    event: str = Field(description="Its id.", examples=[_GUID])
    scope: str = Field(description="Whose document tells of it.", examples=["availability-set/front"])
    phase: str = Field(description="How far it has come.", examples=["scheduled"])
    vms: list[str] = Field(description="Whom it hits, 20 of them at most.", examples=[["web-0"]])
    not_before: datetime = Field(description="When it starts by itself.", examples=[_NOON])


class CampaignStory(CampaignAnswer):
    """A campaign with its waves."""

    vms_total: int = Field(description="How many VMs live on its hosts now.", examples=[14])
    waves: list[CampaignWave] = Field(description="In their order.")
    slowest: SlowestEvent | None = Field(
        description="Whom it waits for longest; null where no event is open.", examples=[None]
    )


class CampaignChanged(CampaignStory, CommandAnswer):
    """A campaign after it was started or changed."""

    ends_at: datetime | None = Field(
        None,
        description="Of a start: when it will be over if nobody acts; null where the forecast does not reach so far.",
        examples=[_NOON],
    )


class CampaignsAnswer(Answer):
    campaigns: list[CampaignAnswer] = Field(description="Oldest first.")
    next: str | None = next_cursor()


class OutcomeAnswer(CommandAnswer):
    """What came of a request."""

    events: list[EventAnswer] = Field(description="The events it scheduled or changed, as they are now.")
    at_once: list[str] = Field(
        description="VMs to which it was done at once, without an event.", examples=[["batch-0"]]
    )
    message: str = Field(
        description="The same as a sentence.",
        examples=["1 event scheduled, not before 2026-01-01T12:15:00Z."],
    )
