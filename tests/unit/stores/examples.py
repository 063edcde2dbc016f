"""One fact of every kind, with every field set to something that can be told apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, SeenWhy
from forewarn.core.phases import Phase
from forewarn.core.region import Event, HostHealth, replace
from forewarn.core.specs import (
    Binding,
    EvictionPolicy,
    Orchestration,
    Policy,
    ScaleInRule,
    ScaleSetSpec,
    ScopeKind,
    UpgradeMode,
    VmSpec,
)
from forewarn.core.tokens.facts import TokenMade, TokenRevoked
from forewarn.core.tokens.values import Role
from forewarn.plane.ports import Entry, Origin

AT = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)
LATER = AT + timedelta(minutes=15)

SPEC = VmSpec(
    kind=ScopeKind.CLOUD_SERVICE,
    set_name="Shop",
    role="web",
    spot=True,
    eviction_policy=EvictionPolicy.DELETE,
    vnet=False,
    terminate_notice=timedelta(minutes=7, seconds=30),
    size="Standard_E4s_v5",
    os_type="Windows",
    tags=(("team", "grün"), ("tier", "1")),
)
EVENT = Event(
    id="0A1B2C3D-0000-8000-8000-00000000000A",
    cause=Cause.LIVE_MIGRATION,
    scope="cloud-service/shop",
    vms=("shop-0", "shop-1"),
    resources=("web_IN_0", "web_IN_1"),
    update_domain=2,
    scheduled_at=AT,
    not_before=LATER,
    recovery=timedelta(minutes=5),
    duration_seconds=5,
    announced=False,
    group="G1",
    host=11,
    campaign="C1",
    phase=Phase.STARTED,
    approved_at=AT,
    approved_by="shop-0",
    started_at=AT,
    impact_began_at=AT,
    impact_ends_at=LATER,
    impact_ended_at=LATER,
)
PLAIN_EVENT = Event(
    id="0A1B2C3D-0000-8000-8000-00000000000B",
    cause=Cause.USER_RESTART,
    scope="vm/db",
    vms=("db",),
    resources=("db",),
    update_domain=0,
    scheduled_at=AT,
    not_before=LATER,
    recovery=timedelta(seconds=30),
    duration_seconds=-1,
)

MODEL = VmSpec(
    kind=ScopeKind.PLACEMENT_GROUP,
    resource_group="rg-1",
    os_image_notice=timedelta(minutes=15),
    rest="5eed",
)

ERRAND = Errand(
    id="0A1B2C3D-0000-8000-8000-00000000000C",
    kind=ErrandKind.REDEPLOY,
    engine="docker",
    host="Alpha",
    made_at=AT,
    vm="db",
    vm_id="0a1b2c3d-0000-8000-8000-00000000000d",
    ref="c0ffee",
    to="Beta",
    boot_mark="m1",
    until=LATER,
    grace=timedelta(seconds=60),
    patience=timedelta(minutes=10),
    event=EVENT.id,
    blueprint="web",
    source_off=True,
)

EVERY_FACT: tuple[f.Fact, ...] = (
    f.HostAdded(AT, host=11, fault_domain=1, update_domain=2, capacity=20),
    f.HostMarked(AT, host=11, health=HostHealth.FAILING),
    f.ScopeCreated(AT, kind=ScopeKind.CLOUD_SERVICE, name="Shop"),
    f.PolicySet(AT, scope="cloud-service/shop", policy=Policy(True, True, False)),
    f.VmCreated(AT, "Shop-0", SPEC, seed="S1", number=0, update_domain=2, fault_domain=1, host=11),
    f.VmCreated(AT, "db", VmSpec(), seed="S2", number=0, update_domain=0, fault_domain=0, host=12),
    f.VmBound(AT, vm="db", binding=Binding("10.0.0.4", "127.0.4.1", "forewarn-db")),
    f.VmMoved(AT, vm="db", host=11),
    f.VmDeallocated(AT, vm="db"),
    f.VmStarted(AT, vm="db", host=11),
    f.VmDeleted(AT, vm="shop-0"),
    f.ScopeEnabled(AT, scope="vm/db", name="db", kind=ScopeKind.VM, lapses_at=LATER),
    f.ScopeRead(AT, scope="vm/db", read_at=AT, lapses_at=LATER),
    f.ScopeDisabled(AT, scope="vm/db"),
    f.EventScheduled(AT, PLAIN_EVENT),
    f.EventBornStarted(AT, EVENT),
    f.EventApproved(AT, event_id=PLAIN_EVENT.id, by="db"),
    f.EventStarted(AT, event_id=PLAIN_EVENT.id),
    f.EventCanceled(AT, event_id=PLAIN_EVENT.id, why="not needed"),
    f.ImpactBegan(AT, event_id=PLAIN_EVENT.id, ends_at=LATER),
    f.ImpactBegan(AT, event_id=EVENT.id),
    f.ImpactEnded(AT, event_id=PLAIN_EVENT.id),
    f.EventCompleted(AT, event_id=PLAIN_EVENT.id),
    f.CampaignStarted(AT, campaign_id="C1", cause=Cause.REBOOT, hosts=(11, 12), hosts_at_once=1),
    f.CampaignWaveBegan(AT, campaign_id="C1", wave=2, hosts=(11,)),
    f.CampaignHostsTaken(AT, campaign_id="C1", hosts=(11,)),
    f.CampaignPaused(AT, campaign_id="C1"),
    f.CampaignResumed(AT, campaign_id="C1"),
    f.CampaignCanceled(AT, campaign_id="C1"),
    f.CampaignCompleted(AT, campaign_id="C1"),
    f.ClockMoved(AT),
    f.ScopeCreated(AT, kind=ScopeKind.PLACEMENT_GROUP, name="Web~0", resource_group="rg-1"),
    f.ScopeRemoved(AT, scope="availability-set/front"),
    f.VmCreated(
        AT, "Web_7", replace(MODEL, set_name="Web~0"), "S3", number=7, update_domain=2, fault_domain=1, host=11, model=3
    ),
    f.VmStopped(AT, vm="db"),
    f.VmRespecified(AT, vm="db", spec=VmSpec(tags=(("team", "blue"),))),
    f.ScaleSetCreated(AT, "Web", "rg-1", Orchestration.FLEXIBLE, True, computer_prefix="webby", seed="S3"),
    f.ScaleSetChanged(
        AT,
        "web",
        ScaleSetSpec(UpgradeMode.ROLLING, ScaleInRule.OLDEST_VM, Policy(auto_approve_redeploy=True)),
        single_placement_group=False,
    ),
    f.ScaleSetModelChanged(AT, "web", model=3, vm_spec=MODEL),
    f.ScaleSetDeletionAsked(AT, "web"),
    f.ScaleSetDeleted(AT, "web"),
    f.InstanceUpgraded(AT, vm="web_7", model=3, spec=replace(MODEL, set_name="Web~0")),
    f.InstanceProtected(AT, vm="web_7", protected=True),
    f.OperationStarted(AT, "0f0e", "delete", events=(EVENT.id, PLAIN_EVENT.id)),
    f.OperationEnded(AT, "0f0e"),
    f.ResourceKept(AT, "/subscriptions/S/resourceGroups/RG-1", body='{"name":"RG-1"}', owner="scale-set/web"),
    f.ResourceForgotten(AT, "/subscriptions/S/resourceGroups/RG-1"),
    f.ScopesRead(AT, scopes=("vm/db", "cloud-service/shop"), read_at=AT, lapses_at=LATER),
    f.VmSpared(AT, event_id=EVENT.id, vm="db"),
    f.EventAnnounced(AT, event_id=EVENT.id, recovery=timedelta(minutes=10)),
    f.RollingUpgradeStarted(AT, "web"),
    f.RollingUpgradeBatched(AT, "web", upgraded=2, next_at=LATER),
    f.RollingUpgradeEnded(AT, "web", upgraded=7, canceled=True),
    mf.HostRegistered(AT, 13, "Alpha", "docker", 1, 2, capacity=8, kinds=(ErrandKind.PAUSE, ErrandKind.RESTART)),
    mf.HostSilent(AT, host=13),
    mf.HostBack(AT, host=13),
    mf.HostFenced(AT, host=13, by="someone"),
    mf.HostLeft(AT, host=13),
    mf.MachineAdopted(AT, "db", "docker", "Alpha", ref="c0ffee", boot_mark="m1", power=MachinePower.RUNNING),
    mf.MachineReleased(AT, vm="db"),
    mf.MachineSeen(AT, "db", "Beta", MachinePower.OFF, "c0ffee", "m2", SeenWhy.GUEST, moved=True),
    mf.MachineDefined(AT, vm="db", definition="<domain/>"),
    mf.MachineCleared(AT, vm="db", host="Alpha"),
    mf.MachineDoubled(AT, vm="db", also="Beta"),
    mf.MachineAlarmed(AT, vm="db", alarm="is paused"),
    mf.ErrandMade(AT, ERRAND, EVENT.id, tried=True),
    mf.ErrandTried(AT, ERRAND.id, EVENT.id, ErrandKind.REDEPLOY, "db"),
    mf.ErrandPlaced(AT, ERRAND.id, EVENT.id, ErrandKind.REDEPLOY, "db", to="Gamma"),
    mf.ErrandHindered(AT, ERRAND.id, EVENT.id, ErrandKind.REDEPLOY, "db", why="no space left"),
    mf.ErrandEnded(AT, ERRAND.id, "vm/db", ErrandKind.STOP, "db"),
    mf.ErrandGivenUp(AT, ERRAND.id, "host/13", ErrandKind.FENCE, why="no such command"),
    TokenMade(AT, "0b5e", "anna", Role.OPERATE, digest="9f86d081"),
    TokenRevoked(AT, "0b5e", "anna"),
    mf.HostDraining(AT, host=13),
    mf.HostResumed(AT, host=13),
    mf.MachineAdopted(AT, "db", "docker", "Alpha", "c0ffee", cannot=(ErrandKind.MIGRATE,), way="address"),
    mf.MachineSeen(AT, "db", "Beta", MachinePower.RUNNING, "c0ffee", "m2", moved=True, stood=2),
)

ORIGIN = Origin("operator", "someone", "R-1")


def entries(count: int, prefix: str = "vm", origin: Origin = ORIGIN) -> list[Entry]:
    """So many different facts, in an order that shows in their names."""
    return [Entry(f.VmDeallocated(AT, f"{prefix}-{number}"), "DeallocateVms", origin) for number in range(count)]
