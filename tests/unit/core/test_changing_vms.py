"""Stopping, reimaging and changing VMs, and availability sets as things of their own."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.deciding.settle import ALL_DOWN
from forewarn.core.refusal import Hint
from forewarn.core.region import Power, replace
from forewarn.core.specs import Orchestration, Policy, ScopeKind, VmSpec
from tests.unit.core.world import MINUTE, NOON, SECOND, World, in_service, in_set, kinds

IMAGE_NOTICE = VmSpec(os_image_notice=15 * MINUTE)


# Stopping


def test_a_stopped_vm_keeps_its_host_and_starts_there_again(world: World) -> None:
    world.create("web")
    host = world.vm("web").host
    world.stop("web")
    assert (world.vm("web").power, world.vm("web").host) == (Power.STOPPED, host)
    world.start("web")
    assert (world.vm("web").power, world.vm("web").host, world.vm("web").boots) == (Power.RUNNING, host, 2)


def test_stopping_a_vm_that_is_down_records_no_fact(world: World) -> None:
    world.create("a", "b")
    world.stop("a")
    world.deallocate("b")
    assert world.do(c.StopVms(("a", "b"))) == ()
    assert world.vm("b").power is Power.DEALLOCATED


def test_a_stopped_vm_can_be_deallocated(world: World) -> None:
    world.create("web")
    world.stop("web")
    world.deallocate("web")
    assert (world.vm("web").power, world.vm("web").host) == (Power.DEALLOCATED, None)


def test_an_event_whose_vm_is_stopped_is_approved_at_once(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.stop("web")
    assert (world.event(event_id).approved_by, world.phases(event_id)) == (ALL_DOWN, ["started"])
    world.advance(MINUTE)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.STOPPED, 1)


def test_a_vm_that_is_stopped_during_an_impact_stays_so(world: World) -> None:
    world.create("web")
    world.restart("web")
    world.stop("web")
    world.advance(MINUTE)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.STOPPED, 1)


def test_a_stopped_vm_is_moved_from_a_host_that_fails(world: World) -> None:
    world.create("web")
    world.stop("web")
    host = world.vm("web").host
    world.fail(f"host-{host}")
    world.advance(2 * MINUTE)
    assert world.vm("web").power is Power.STOPPED
    assert world.vm("web").host != host


@pytest.mark.parametrize("command", [c.RestartVms, c.RedeployVms, c.ReimageVms])
def test_nothing_that_needs_a_running_vm_is_asked_of_a_stopped_one(
    command: type[c.RestartVms | c.RedeployVms | c.ReimageVms], world: World
) -> None:
    world.create("web", "off")
    world.stop("off")
    refused = world.refused(command(("web", "off"), "s"))
    assert (refused.hint, refused.message) == (Hint.CONFLICT, "VM 'off' is stopped; start it first.")


# Reimaging


def test_without_an_os_image_notice_a_reimage_is_done_at_once_though_somebody_reads(world: World) -> None:
    world.reading("web")
    (event_id,) = world.reimage("web")
    assert (world.vm("web").power, world.document("web").events) == (Power.REIMAGING, ())
    world.advance(MINUTE)
    assert (world.vm("web").power, world.vm("web").boots, world.gone(event_id)) == (Power.RUNNING, 2, True)
    assert world.document("web").incarnation == 1


def test_with_an_os_image_notice_a_reimage_is_told_and_waits(world: World) -> None:
    world.reading("web", spec=IMAGE_NOTICE)
    (event_id,) = world.reimage("web")
    assert (world.seen("web").type, world.seen("web").not_before) == ("Reboot", NOON + 15 * MINUTE)
    world.approve(event_id)
    world.advance(MINUTE)
    assert world.vm("web").boots == 2
    world.advance(30 * SECOND)
    assert world.gone(event_id)


def test_a_reimage_is_neither_automatic_nor_counted_as_a_restart(world: World) -> None:
    world.reading("web", spec=IMAGE_NOTICE)
    world.set_policy("vm/web", auto_approve_reboot=True, auto_approve_redeploy=True)
    world.reimage("web")
    assert (world.statuses("web"), world.region.user_operations) == (["Scheduled"], 0)


# Changing


def test_a_changed_vm_is_the_same_vm(world: World) -> None:
    world.reading("Web", spec=VmSpec(resource_group="Shop"))
    before = world.vm("web")
    world.do(c.RespecifyVm("WEB", VmSpec(resource_group="SHOP", tags=(("a", "1"),), size="big")))
    after = world.vm("web")
    assert after == replace(before, spec=VmSpec(resource_group="Shop", tags=(("a", "1"),), size="big"))
    assert world.do(c.RespecifyVm("web", replace(after.spec, resource_group="shop"))) == ()


def test_a_changed_notice_counts_for_the_next_deletion_and_not_for_this_one(world: World) -> None:
    world.reading("web", spec=VmSpec(terminate_notice=5 * MINUTE))
    (event_id,) = world.delete("web")
    world.do(c.RespecifyVm("web", VmSpec(terminate_notice=15 * MINUTE)))
    assert (world.delete("web"), world.event(event_id).not_before) == ([], NOON + 5 * MINUTE)
    world.cancel(event_id)
    world.delete("web")
    assert world.seen("web").not_before == NOON + 15 * MINUTE


def test_a_notice_that_is_taken_away_does_not_hasten_a_deletion_that_waits(world: World) -> None:
    world.reading("web", spec=VmSpec(terminate_notice=5 * MINUTE))
    world.delete("web")
    world.do(c.RespecifyVm("web", VmSpec()))
    assert (world.delete("web"), "web" in world.region.vms) == ([], True)


def test_an_instance_of_a_flexible_set_may_be_changed_too(world: World) -> None:
    world.put_set(capacity=1, orchestration=Orchestration.FLEXIBLE)
    (name,) = world.instances()
    spec = replace(world.vm(name).spec, tags=(("a", "1"),))
    world.do(c.RespecifyVm(name, spec))
    assert (world.vm(name).spec, world.vm(name).traits.model) == (spec, 1)


@pytest.mark.parametrize(
    "spec",
    [
        VmSpec(),
        in_set("back"),
        in_service("front", "Web"),
        VmSpec(kind=ScopeKind.PLACEMENT_GROUP, set_name="front"),
        in_set("front", resource_group="elsewhere"),
    ],
)
def test_a_vm_is_not_moved_by_changing_it(spec: VmSpec, world: World) -> None:
    world.create("web", spec=in_set("front"))
    world.create("other", spec=in_set("back"))
    assert world.refused(c.RespecifyVm("web", spec)).hint is Hint.CONFLICT


@pytest.mark.parametrize("minutes", [4, 16])
def test_a_specification_that_no_new_vm_could_have_is_refused_as_a_change_too(minutes: int, world: World) -> None:
    world.create("web")
    assert world.refused(c.RespecifyVm("web", VmSpec(terminate_notice=minutes * MINUTE))).hint is Hint.INVALID


# Availability sets


def test_an_availability_set_may_be_there_before_its_vms(world: World) -> None:
    world.do(c.PutAvailabilitySet("Front", "rg", Policy(auto_approve_reboot=True)))
    world.reading("web", spec=in_set("front"))
    world.restart("web")
    assert (world.statuses("web"), world.scope("web").name) == (["Started"], "Front")


def test_putting_an_availability_set_changes_its_policy_and_keeps_its_members(world: World) -> None:
    world.create("web", spec=in_set("front", resource_group="rg"))
    command = c.PutAvailabilitySet("FRONT", "RG", Policy(all_instances_down=False))
    assert kinds(world.do(command)) == ["PolicySet"]
    assert world.do(command) == ()
    assert (world.scope("web").policy.all_instances_down, len(world.scope("web").members)) == (False, 1)


def test_an_availability_set_goes_when_it_is_empty(world: World) -> None:
    world.reading("web", spec=in_set("front"))
    refused = world.refused(c.DeleteAvailabilitySet("FRONT"))
    assert (refused.hint, refused.message) == (
        Hint.CONFLICT,
        "Availability set 'front' has VMs in it; delete those first.",
    )
    world.maintain(Cause.FREEZE)
    world.together("OP", c.DeleteVms(("web",), "s"), c.DeleteAvailabilitySet("front"))
    assert len(world.region.scopes) == len(world.region.events) == 0


def test_a_set_that_comes_again_has_forgotten_its_policy(world: World) -> None:
    world.do(c.PutAvailabilitySet("front", "rg", Policy(auto_approve_reboot=True)))
    world.do(c.DeleteAvailabilitySet("front"))
    world.create("web", spec=in_set("front"))
    assert world.scope("web").policy == Policy()
