"""VMs that go: evicted Spot VMs, terminated ones, plainly deleted ones, and what becomes of events meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.region import Power
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from tests.unit.core.world import MINUTE, SECOND, SPOT, SPOT_DELETED, World, in_set, kinds

NOTICED = VmSpec(terminate_notice=5 * MINUTE)


def test_an_evicted_vm_is_deallocated(world: World) -> None:
    world.reading("web", spec=SPOT)
    (event_id,) = world.evict("web")
    world.advance(30 * SECOND)
    assert (world.statuses("web"), world.vm("web").power) == (["Started"], Power.EVICTING)
    world.advance(5 * SECOND)
    assert (world.vm("web").power, world.vm("web").host) == (Power.DEALLOCATED, None)
    assert world.gone(event_id)


def test_an_evicted_vm_is_deleted_where_its_policy_says_so(world: World) -> None:
    world.reading("web", spec=SPOT_DELETED)
    world.evict("web")
    world.advance(35 * SECOND)
    assert "web" not in world.region.vms
    assert len(world.region.events) == len(world.region.scopes) == 0


def test_an_evicted_vm_can_be_started_again(world: World) -> None:
    world.reading("web", spec=SPOT)
    (event_id,) = world.evict("web")
    world.approve(event_id)
    world.advance(5 * SECOND)
    world.start("web")
    assert world.vm("web").power is Power.RUNNING


def test_evicting_twice_is_evicting_once(world: World) -> None:
    world.reading("web", spec=SPOT)
    world.evict("web")
    assert world.evict("web") == []


def test_only_spot_vms_are_evicted(world: World) -> None:
    world.create("spot", spec=SPOT)
    world.create("web")
    refused = world.refused(c.EvictVms(("spot", "web"), "s"))
    assert (refused.hint, refused.message) == (Hint.CONFLICT, "VM 'web' cannot be evicted: only Spot VMs can.")


def test_a_terminated_vm_goes_when_its_event_is_approved(world: World) -> None:
    world.reading("web-0", "web-1", spec=in_set("front", terminate_notice=5 * MINUTE))
    (event_id,) = world.delete("web-0")
    assert world.vm("web-0").power is Power.RUNNING
    world.approve(event_id)
    assert world.vm("web-0").power is Power.DELETING
    world.advance(5 * SECOND)
    assert "web-0" not in world.region.vms
    assert world.document("web-1").events == ()
    assert world.document("web-1").incarnation == 4


def test_a_terminated_vm_goes_at_not_before_whatever_anyone_says(world: World) -> None:
    world.reading("web", spec=NOTICED)
    world.delete("web")
    world.advance(5 * MINUTE - SECOND)
    assert world.delete("web") == []  # asking again neither hastens nor delays it
    assert world.seen("web").not_before == world.now + SECOND
    world.advance(6 * SECOND)
    assert "web" not in world.region.vms


@pytest.mark.parametrize("operation", [World.restart, World.redeploy])
def test_only_deletes_make_a_terminate(operation: Callable[[World, str], list[str]], world: World) -> None:
    world.reading("web", spec=NOTICED)
    operation(world, "web")
    world.deallocate("web")
    world.start("web")
    assert "Terminate" not in {event.type for event in world.document("web").events}


def test_a_vm_without_a_terminate_notice_is_deleted_at_once(world: World) -> None:
    world.reading("web")
    assert kinds(world.do(c.DeleteVms(("web",), "s"))) == ["VmDeleted"]


@pytest.mark.parametrize("minutes", [0, 4, 16])
def test_a_terminate_notice_is_between_five_and_fifteen_minutes(minutes: int, world: World) -> None:
    spec = VmSpec(terminate_notice=minutes * MINUTE)
    assert world.refused(c.CreateVms(("web",), spec, "s")).hint is Hint.INVALID


def test_a_spot_vm_gets_no_terminate_notice(world: World) -> None:
    spec = VmSpec(spot=True, terminate_notice=5 * MINUTE)
    assert world.refused(c.CreateVms(("web",), spec, "s")).hint is Hint.INVALID


@pytest.mark.parametrize(("power", "spec"), [("evicting", SPOT), ("deleting", NOTICED)])
def test_what_is_on_its_way_out_is_not_disturbed_again(power: str, spec: VmSpec, world: World) -> None:
    world.reading("web", spec=spec)
    (event_id,) = world.evict("web") if spec.spot else world.delete("web")
    world.approve(event_id)
    refused = world.refused(c.RestartVms(("web",), "s"))
    assert (refused.hint, refused.message) == (Hint.CONFLICT, f"VM 'web' is {power} already.")


# Deletion while something is under way


def test_deleting_the_only_target_cancels_what_is_scheduled(world: World) -> None:
    world.reading("web-0", "web-1", spec=in_set("front"))
    (event_id,) = world.restart("web-0")
    assert kinds(world.do(c.DeleteVms(("web-0",), "s"))) == ["VmDeleted", "EventCanceled"]
    assert world.gone(event_id)
    assert world.document("web-1").incarnation == 3


def test_deleting_the_only_target_completes_what_has_started(world: World) -> None:
    world.reading("web-0", "web-1", spec=in_set("front"))
    (event_id,) = world.restart("web-0")
    world.approve(event_id)
    assert kinds(world.do(c.DeleteVms(("web-0",), "s"))) == ["VmDeleted", "EventCompleted"]
    assert world.document("web-1").events == ()


def test_a_deleted_target_leaves_the_event_and_its_document() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("web-0", "web-1", spec=in_set("front"))
    (event_id,) = world.maintain(Cause.REBOOT)
    before = world.document("web-1")
    world.delete("web-0")
    assert world.document("web-1").incarnation == before.incarnation + 1
    assert world.seen("web-1").resources == ("web-1",)
    assert world.event(event_id).vms == ("web-1",)
    world.approve(event_id)
    world.advance(30 * SECOND)
    assert world.vm("web-1").boots == 2


def test_what_has_started_keeps_the_names_it_started_with() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("web-0", "web-1", spec=in_set("front"))
    (event_id,) = world.maintain(Cause.REBOOT)
    world.approve(event_id)
    before = world.document("web-1")
    world.delete("web-0")
    assert world.document("web-1") == before
    assert world.seen("web-1").resources == ("web-0", "web-1")


def test_deleting_during_recovery_ends_the_event(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.approve(event_id)
    world.advance(31 * SECOND)
    world.delete("web")
    assert world.gone(event_id)


def test_a_deleted_vm_leaves_nothing_behind(world: World) -> None:
    world.reading("web")
    world.do(c.BindVm("web", world.vm("web").binding))
    world.restart("web")
    world.redeploy("web")
    world.delete("web")
    region = world.region
    assert [len(part) for part in (region.vms, region.scopes, region.events, region.groups, region.addresses)] == [
        0
    ] * 5
    assert region.user_operations == 0


def test_an_eviction_of_a_vm_that_is_stopped_meanwhile_still_follows_its_policy(world: World) -> None:
    world.reading("kept", spec=SPOT)
    world.reading("lost", spec=SPOT_DELETED)
    world.evict("kept", "lost")
    world.deallocate("kept", "lost")
    world.advance(5 * SECOND)
    assert [vm.name for vm in world.region.vms.values()] == ["kept"]
    assert world.vm("kept").power is Power.DEALLOCATED
