"""The model of a scale set and its versions: an instance has the one that was applied to it, not the latest."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.refusal import Hint
from forewarn.core.specs import UpgradeMode, VmSpec
from tests.unit.core.world import MINUTE, NOON, World, kinds

BY_THEMSELVES = [UpgradeMode.AUTOMATIC, UpgradeMode.ROLLING]


def latest(world: World) -> list[str]:
    """The instances that have the latest model."""
    model = world.scale_set().model
    return [name for name in world.instances() if world.vm(name).traits.model == model]


def test_a_set_is_made_with_its_first_model(world: World) -> None:
    world.put_set(capacity=1)
    assert (world.scale_set().model, world.vm("web_0").traits.model, latest(world)) == (1, 1, ["web_0"])


def test_a_change_of_the_model_is_a_new_version_and_anything_else_is_not(world: World) -> None:
    world.put_set(capacity=1)
    world.advance(MINUTE)
    world.put_set(size="big")
    assert (world.scale_set().model, world.scale_set().changed_at) == (2, NOON + MINUTE)
    world.advance(MINUTE)
    world.put_set(capacity=2, size="big", upgrade=UpgradeMode.ROLLING)
    assert (world.scale_set().model, world.scale_set().changed_at) == (2, NOON + MINUTE)
    world.put_set(size="big", rest="another image")
    assert world.scale_set().model == 3


def test_in_manual_mode_instances_keep_their_model_until_they_are_upgraded(world: World) -> None:
    world.put_set(capacity=3)
    world.put_set(size="big")
    assert (latest(world), world.vm("web_0").spec.size) == ([], VmSpec().size)
    world.upgrade("WEB_1")
    assert (latest(world), world.vm("web_1").spec.size) == (["web_1"], "big")
    world.upgrade()
    assert latest(world) == ["web_0", "web_1", "web_2"]
    assert world.do(c.UpgradeInstances("web")) == ()


def test_what_is_made_later_has_the_latest_model_at_once(world: World) -> None:
    world.put_set(capacity=1)
    world.put_set(capacity=2, size="big")
    assert latest(world) == ["web_1"]


@pytest.mark.parametrize("upgrade", BY_THEMSELVES)
def test_in_automatic_mode_instances_take_over_a_new_model_by_themselves(upgrade: UpgradeMode, world: World) -> None:
    world.put_set(capacity=2, upgrade=upgrade)
    world.put_set(size="big", upgrade=upgrade)
    assert {world.vm(name).spec.size for name in latest(world)} == {"big"}
    assert len(latest(world)) == 2


@pytest.mark.parametrize("upgrade", BY_THEMSELVES)
def test_a_set_that_stops_waiting_to_be_told_brings_all_up_to_date(upgrade: UpgradeMode, world: World) -> None:
    world.put_set(capacity=2)
    world.put_set(size="big")
    facts = kinds(world.put_set(size="big", upgrade=upgrade))
    assert [kind for kind in facts if "Rolling" not in kind] == ["ScaleSetChanged", *["InstanceUpgraded"] * 2]


def test_an_upgrade_leaves_the_instance_where_and_what_it_is(world: World) -> None:
    world.put_set(capacity=101)
    before = world.vm("web_100")
    world.put_set(size="big", tags=(("tier", "1"),))
    world.upgrade("web_100")
    after = world.vm("web_100")
    assert (after.host, after.scope, after.vm_id, after.boots) == (before.host, before.scope, before.vm_id, 1)
    assert (after.spec.size, after.spec.tags) == ("big", (("tier", "1"),))


def test_a_model_cannot_say_where_its_instances_live(world: World) -> None:
    world.put_set(capacity=1, vm_spec=VmSpec(set_name="elsewhere", resource_group="elsewhere"))
    assert (world.vm("web_0").spec.set_name, world.vm("web_0").spec.resource_group) == ("web~0", "rg")


@pytest.mark.parametrize("minutes", [0, 4, 16, 60])
def test_a_terminate_notice_is_between_five_and_fifteen_minutes(minutes: int, world: World) -> None:
    refused = world.refused(world.put(capacity=1, terminate_notice=minutes * MINUTE))
    assert (refused.hint, refused.message) == (Hint.INVALID, "The terminate notice must be between 5 and 15 minutes.")


@pytest.mark.parametrize("minutes", [5, 15])
def test_notices_of_exactly_five_and_fifteen_minutes_are_taken(minutes: int, world: World) -> None:
    world.put_set(capacity=1, terminate_notice=minutes * MINUTE)
    assert world.vm("web_0").spec.terminate_notice == minutes * MINUTE


def test_a_terminate_notice_on_spot_instances_is_refused(world: World) -> None:
    refused = world.refused(world.put(capacity=1, spot=True, terminate_notice=5 * MINUTE))
    assert (refused.hint, refused.message) == (
        Hint.INVALID,
        "Terminate notifications cannot be enabled on Spot VMs.",
    )


def test_an_os_image_notice_is_fifteen_minutes(world: World) -> None:
    assert world.refused(world.put(os_image_notice=10 * MINUTE)).hint is Hint.INVALID
    world.put_set(capacity=1, os_image_notice=15 * MINUTE)
    assert world.vm("web_0").spec.os_image_notice == 15 * MINUTE
