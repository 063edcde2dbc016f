"""The answers of the operator API as this command reads them. A test compares each with the OpenAPI document.

Those of real machines are in ``machine_shapes``, those of the clock, the journal and the future in ``time_shapes``.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from forewarn.cli.api.machine_shapes import Binding, Errand, Machine
from forewarn.cli.api.time_shapes import Clock


class Pong(TypedDict):
    name: str
    version: str
    region: NotRequired[str]  # 0.1 does not tell
    data: NotRequired[str]
    now: str
    clock: Clock
    vms: int
    seq: int
    metadata: str


class Node(TypedDict):
    name: str
    id: str
    version: str
    faces: list[str]
    urls: list[str]
    rules: str
    started_at: str
    seen_at: str
    seen_seconds_ago: float
    seq: int
    lag: int
    leads: bool
    draining: bool
    silent: bool
    this: bool


class Beside(TypedDict):
    readers: int
    readers_ended: int
    relays: int
    told: list[str]


class Nodes(TypedDict):
    nodes: list[Node]
    beside: Beside
    warnings: list[str]


class DomainCount(TypedDict):
    update_domain: int
    fault_domain: int
    vms: int
    not_running: int
    pending: int


class EventCount(TypedDict):
    type: str
    phase: str
    events: int


class Fleet(TypedDict):
    ready: bool
    share: float
    seq: int
    vms_total: int
    hosts_total: int
    scale_sets_total: int
    scopes_total: int
    campaigns_total: int
    power: dict[str, int]
    kinds: dict[str, int]
    spot: int
    pending: int
    domains: list[DomainCount]
    health: dict[str, int]
    hosts_with_work: int
    hosts_with_vms_down: int
    events_total: int
    events: list[EventCount]


class FoundThing(TypedDict):
    kind: str
    name: str
    id: str
    about: str


class Search(TypedDict):
    found: list[FoundThing]
    more: bool
    ready: bool
    share: float


class Event(TypedDict):
    id: str
    type: str
    source: str
    cause: str
    phase: str
    announced: bool
    scope: str
    vms: list[str]
    resources: list[str]
    update_domain: int
    host: str | None
    description: str
    duration_seconds: int
    scheduled_at: str
    not_before: str
    approved_at: str | None
    approved_by: str | None
    started_at: str | None
    impact_began_at: str | None
    impact_ends_at: str | None
    impact_ended_at: str | None
    campaign: str | None
    awaited: list[str]


class Moment(TypedDict):
    """One line of an event's story."""

    at: str
    fact: str
    by: str
    text: str


class EventStory(Event):
    in_time: bool | None
    timeline: list[Moment]
    errands: list[Errand]


class Vm(TypedDict):
    name: str
    resource_name: str
    vm_id: str
    scope: str
    power: str
    host: str | None
    update_domain: int
    fault_domain: int
    spot: bool
    eviction_policy: str
    vnet: bool
    boots: int
    ephemeral_disks: int
    terminate_notice_seconds: float | None
    os_image_notice_seconds: float | None
    scale_set: str | None
    instance_id: str | None
    model: int | None
    latest_model: bool | None
    protected: bool
    resource_group: str
    size: str
    os_type: str
    tags: dict[str, str]
    created_at: str
    binding: Binding
    machine: Machine | None


class VmStory(Vm):
    events: list[Event]
    shared_address: str


class Read(TypedDict):
    """What a VM has read, and whether that enabled its scope."""

    vm: str
    scope: str
    enabled: bool
    api_version: str
    document: dict[str, Any]
    dry_run: NotRequired[bool]


class Outcome(TypedDict):
    """What came of an operation: events that wait, and VMs that were done at once."""

    events: list[Event]
    at_once: list[str]
    message: str
    dry_run: NotRequired[bool]  # 0.1 does not tell


class Policy(TypedDict):
    auto_approve_reboot: bool
    auto_approve_redeploy: bool
    all_instances_down: bool


class ScaleSet(TypedDict):
    name: str
    resource_group: str
    orchestration: str
    single_placement_group: bool
    capacity: int
    instances_total: int
    latest_model_total: int
    model: int
    upgrade: str
    scale_in: str
    policy: Policy
    binding: Binding
    terminate_notice_seconds: float | None
    os_image_notice_seconds: float | None
    spot: bool
    eviction_policy: str
    vnet: bool
    size: str
    os_type: str
    tags: dict[str, str]
    scopes: list[str]
    deleting: bool
    created_at: str
    changed_at: str | None


class ScaleSetStory(ScaleSet):
    instances: list[Vm]
    events: list[Event]


class Scope(TypedDict):
    key: str
    kind: str
    name: str
    resource_group: str
    enabled_at: str | None
    last_read_at: str | None
    incarnation: int
    vms: int
    events: list[str]
    policy: Policy


class Host(TypedDict):
    name: str
    fault_domain: int
    update_domain: int
    health: str
    engine: str | None
    capacity: int
    vms: list[str]


class CampaignHosts(TypedDict):
    total: int
    done: int
    working: int
    left: int


class Campaign(TypedDict):
    id: str
    kind: str
    state: str
    wave: int
    wave_number: int
    waves_total: int
    next_wave: int | None
    hosts: CampaignHosts
    hosts_waiting: int
    waits_for: str
    open_events: list[str]  # some of them, where there are very many
    open_events_total: int
    open_events_by_phase: dict[str, int]
    open_events_start_by: str | None
    events_total: int
    started_at: str
    ended_at: str | None


class Fault(TypedDict):
    id: str
    kind: str
    vms: list[str]
    times: int | None
    share: float | None
    delay_seconds: float
    answered: int


class SettingShown(TypedDict):
    name: str
    value: str
    source: str
    help: str


class ResourceManager(TypedDict):
    """Where az and the SDKs work, and what they must be told."""

    url: str
    authority_pem: str
    cloud: str
    subscription: str
    tenant: str
    location: str
    token_path: str
