"""A region's first minutes, in which all that can be in a region comes to be in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import cache

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.facts import Fact
from forewarn.core.region import Region, replace
from forewarn.core.rules import Rules
from forewarn.core.specs import Binding, EvictionPolicy, Policy, ScaleSetSpec, ScopeKind, VmSpec
from forewarn.core.step import step
from forewarn.core.tokens.values import MakeToken, RevokeToken, Role
from tests.unit.stores.examples import AT

RULES = Rules(vms_per_host=3, notices={Cause.FREEZE: timedelta(minutes=3)})
SET = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="Front", tags=(("tier", "web"),))
SERVICE = VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="shop", role="worker")
SPOT = VmSpec(spot=True, eviction_policy=EvictionPolicy.DELETE)
NOTIFIED = VmSpec(terminate_notice=timedelta(minutes=5))
POOL = c.PutScaleSet("Pool", "rg-1", NOTIFIED, "S10", ScaleSetSpec(policy=Policy(auto_approve_redeploy=True)))
ANY = "/subscriptions/S/resourceGroups/RG-1/providers/Any.Thing/"


def _commands(region: Region, minute: int) -> Iterator[c.Command]:
    """What happens in each minute of the story."""
    now = AT + timedelta(minutes=minute)
    match minute:
        case 0:
            yield c.CreateVms(tuple(f"Lone-{n}" for n in range(4)), NOTIFIED, "S1")
            yield c.CreateVms(tuple(f"web-{n}" for n in range(6)), SET, "S2")
            yield c.CreateVms(tuple(f"shop-{n}" for n in range(5)), SERVICE, "S3")
            yield c.CreateVms(("spot",), SPOT, "S4", Binding("10.0.0.9", "", "ns9"))
            yield c.Together((replace(POOL, capacity=6),), "OP-0", "create")
            yield c.KeepResource(ANY + "A", '{"a":1}')
            yield c.KeepResource(ANY + "B", '{"b":1}', "scale-set/pool")
        case 1:
            yield c.Pulse(tuple((key, now) for key in ("lone-0", "web-3", "shop-1", "spot")))
            yield c.SetPolicy("cloud-service/shop", Policy(auto_approve_reboot=True))
            yield c.Pulse((("pool_0", now),))
            yield c.ProtectInstance("pool_5", True)
            yield replace(POOL, vm_spec=SPOT)
        case 2:
            yield c.RestartVms(("lone-0", "web-1", "shop-2"), "S5")
            yield c.DeallocateVms(("lone-1",))
            yield c.UpgradeInstances("pool", ("pool_1",))
            yield c.Together((c.DeleteInstances("pool", ("pool_0", "pool_1", "pool_2"), "S11"),), "OP-1", "delete")
            yield c.Together((c.DeleteInstances("pool", ("pool_2",), "S12"),), "OP-2", "delete")
            yield c.Together((c.RedeployVms(("pool_4",), "S13"), c.StopVms(("pool_5",))), "OP-3", "mix")
        case 3:
            yield c.MaintainHosts(("host-0", "host-1"), Cause.FREEZE, "S6")
            yield c.EvictVms(("spot",), "S7")
        case 4:
            yield c.FailHosts(("host-3",), "S8")
            yield c.StartCampaign("C1", Cause.REBOOT, hosts_at_once=1)
        case 5:
            yield c.Approve(tuple(region.scopes["availability-set/front"].events), by="web-0", ignore_unknown=True)
        case 6:
            yield c.BindVm("lone-2", Binding(address="10.0.0.2"))
            yield c.PauseCampaign("C1")
            yield MakeToken("0b5e", "anna", Role.OPERATE, "9f86d081")
            yield MakeToken("1c6f", "bert", Role.READ, "60303ae2")
        case 8:
            yield c.ResumeCampaign("C1")
        case 9:
            yield c.DeleteVms(("web-5", "lone-3"), "S9")
            yield c.Together((c.DeleteScaleSet("pool", "S14"),), "OP-4", "delete")
            yield c.ForgetResource(ANY + "a")
            yield RevokeToken("bert")
            yield c.StartVms(("lone-1",))
    for event in sorted(region.events.values(), key=lambda event: event.id):
        if event.started_at is not None and event.impact_began_at is None:
            yield c.BeginImpact(event.id, now + timedelta(seconds=90))


def minute_of_the_story(region: Region, minute: int) -> tuple[Region, list[Fact]]:
    """Live through one minute; two regions that are the same live through it in the same way."""
    now, facts = AT + timedelta(minutes=minute), list[Fact]()
    for command in (c.Tick(), *_commands(region, minute)):
        region, more = step(region, command, now, RULES)
        facts += more
    return region, facts


MINUTES = 40


@cache
def story() -> tuple[tuple[Region, list[Fact]], ...]:
    """Where the region was after each minute, and what had happened in it."""
    told, region = list[tuple[Region, list[Fact]]](), Region()
    for minute in range(MINUTES):
        region, facts = minute_of_the_story(region, minute)
        told.append((region, facts))
    return tuple(told)
