"""Errands: what an event or a person wants of a real machine, and how that ends or is given up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.looking.errands import supposed
from forewarn.core.machines.values import ErrandKind, Sighting
from forewarn.core.region import Power
from forewarn.core.specs import EvictionPolicy, VmSpec
from tests.unit.core.real_world import PAUSED, RUNNING, RealWorld

MINUTE = timedelta(minutes=1)


def told(world: RealWorld, kind: type) -> list[f.Fact]:
    return [fact for fact in world.facts if isinstance(fact, kind)]


def test_a_restart_is_over_when_the_machine_runs_with_another_boot_mark() -> None:
    world = RealWorld()
    world.adopt("web")
    (event_id,) = world.restart("web")
    errand = world.try_it("web")

    assert errand.errand.kind is ErrandKind.RESTART
    assert errand.errand.boot_mark == "boot-1"
    assert world.power("web") is Power.RESTARTING
    world.advance(10 * MINUTE)
    assert world.region.events[event_id].impact_ended_at is None  # time alone ends nothing that is real

    world.sees("alpha", "web", mark="boot-1")
    assert errand.errand.id in world.region.errands
    world.sees("alpha", "web", mark="boot-2")

    assert not world.region.errands
    assert world.power("web") is Power.RUNNING
    assert world.region.vms["web"].boots == 2
    assert event_id not in world.region.events


def test_a_boot_counts_once_also_where_a_listing_came_while_the_engine_had_it_paused_at_its_start() -> None:
    world = RealWorld()
    world.adopt("web")
    world.restart("web")
    world.try_it("web")

    world.sees("alpha", "web", power=PAUSED, mark="boot-2")
    assert world.region.errands
    world.sees("alpha", "web", power=RUNNING, mark="boot-2")

    assert not world.region.errands
    assert world.region.vms["web"].boots == 2


def test_a_pause_ends_when_its_time_has_passed_and_the_machine_is_seen_running_after_that() -> None:
    world = RealWorld()
    world.adopt("web")
    (event_id,) = world.maintain(Cause.FREEZE, "alpha")
    errand = world.try_it("web")
    assert errand.errand.until == world.now + timedelta(seconds=9)

    world.sees("alpha", "web", power=PAUSED)
    world.advance(timedelta(seconds=20))
    assert world.power("web") is Power.FROZEN
    world.sees("alpha", "web", power=RUNNING, ago=timedelta(seconds=19))  # asked for before the pause was over
    assert world.region.errands

    world.sees("alpha", "web", power=RUNNING)
    assert not world.region.errands
    assert event_id not in world.region.events
    assert world.region.vms["web"].boots == 1


def test_nothing_is_tried_before_it_is_kept_and_a_second_try_adds_nothing() -> None:
    world = RealWorld()
    world.adopt("web")
    world.restart("web")

    errand = world.try_it("web")
    assert world.do(c.TryErrand(errand.errand.id)) == ()
    assert world.region.errands[errand.errand.id].tries == 1
    world.refused(c.TryErrand("nobody-knows"))


def test_what_was_done_is_believed_only_when_it_was_seen() -> None:
    world = RealWorld()
    world.adopt("web")
    world.restart("web")
    errand = world.try_it("web")

    world.report(errand, "done", seen=Sighting("ref-web", "alpha", RUNNING, "boot-1"))
    assert errand.errand.id in world.region.errands
    world.report(errand, "done")
    assert errand.errand.id in world.region.errands
    world.report(errand, "done", seen=supposed(errand.errand))
    assert errand.errand.id not in world.region.errands


def test_an_event_with_real_and_pretended_machines_is_over_with_the_last() -> None:
    world = RealWorld()
    world.adopt("web", spec=VmSpec(tags=(("a", "b"),)))
    world.create("db")
    (real,) = world.restart("web")
    (pretended,) = world.restart("db")

    world.advance(MINUTE)
    assert real in world.region.events
    assert pretended not in world.region.events
    world.carry_out("web")
    assert real not in world.region.events


@pytest.mark.parametrize(
    ("policy", "kind", "left"),
    [(EvictionPolicy.DEALLOCATE, ErrandKind.OFF, True), (EvictionPolicy.DELETE, ErrandKind.DELETE, False)],
)
def test_an_eviction_turns_the_machine_off_or_deletes_it(policy: EvictionPolicy, kind: ErrandKind, left: bool) -> None:
    world = RealWorld()
    world.adopt("web", spec=VmSpec(spot=True, eviction_policy=policy))
    world.evict("web")

    assert world.carry_out("web") is kind
    assert ("web" in world.region.vms) is left
    if left:
        assert world.power("web") is Power.DEALLOCATED
    assert not world.region.errands


def test_a_deletion_keeps_the_name_until_the_machine_is_gone() -> None:
    world = RealWorld()
    world.adopt("web")
    world.delete("web")
    world.try_it("web")

    assert world.power("web") is Power.DELETING
    world.refuse("web", "the disk is in use")
    assert world.due_kinds() == {"web": ErrandKind.DELETE}
    world.refused(c.CreateVms(("web",), VmSpec(), "s"))
    world.sees("alpha", complete=True)
    assert "web" in world.region.vms  # it may be at the other host
    world.sees("beta", complete=True)

    assert "web" not in world.region.vms
    assert not world.region.machines


def test_stop_start_and_deallocate_are_true_when_they_are_seen() -> None:
    world = RealWorld()
    world.adopt("web")
    world.stop("web")
    assert world.power("web") is Power.RUNNING
    assert world.carry_out("web") is ErrandKind.STOP
    assert world.power("web") is Power.STOPPED
    assert world.home("web") == "alpha"

    world.start("web")
    assert world.power("web") is Power.STOPPED
    assert world.carry_out("web") is ErrandKind.START
    assert world.power("web") is Power.RUNNING

    world.deallocate("web")
    assert world.carry_out("web") is ErrandKind.OFF
    assert world.power("web") is Power.DEALLOCATED
    assert world.home("web") == ""
    world.start("web")
    assert world.carry_out("web") is ErrandKind.START
    assert world.home("web") == "alpha"
