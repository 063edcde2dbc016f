"""What takes too long is said, and what can be left is given up; what an engine says is kept once, not each time."""

from __future__ import annotations

from datetime import timedelta

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, Listing, SeenWhy, Sighting
from forewarn.core.region import Power
from forewarn.core.specs import VmSpec
from tests.unit.core.real_world import ENGINE, OFF, RUNNING, RealWorld
from tests.unit.core.world import in_set

LONG = timedelta(minutes=20)


def test_a_restart_that_does_not_come_to_an_end_is_given_up_and_the_vm_is_stopped_with_an_alarm() -> None:
    world = RealWorld()
    world.adopt("web")
    (event_id,) = world.restart("web")
    found = world.try_it("web")
    world.report(found, "not yet", "it is shutting down")
    world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
    world.report(found, "failed", "web ended as soon as it was started")
    assert found.errand.id in world.region.errands
    world.advance(LONG)
    world.report(found, "not yet", "it is shutting down")

    assert not world.region.errands
    assert world.power("web") is Power.STOPPED
    assert "it is shutting down" in world.machine("web").alarm
    assert event_id not in world.region.events


def test_a_deletion_that_takes_long_goes_on_with_an_alarm() -> None:
    world = RealWorld()
    world.adopt("web")
    world.delete("web")
    found = world.try_it("web")
    world.advance(LONG)
    world.report(found, "not yet", "the disk is in use")
    assert world.due_kinds() == {"web": ErrandKind.DELETE}
    assert "the disk is in use" in world.machine("web").alarm


def test_an_engines_sentences_that_differ_by_numbers_only_are_kept_once() -> None:
    world = RealWorld()
    world.adopt("web")
    world.restart("web")
    found = world.try_it("web")
    for second in range(5):
        world.report(found, "failed", f"2026-01-01T12:00:0{second}Z busy, request 84040db8d69{second}")
    assert len([fact for fact in world.facts if isinstance(fact, mf.ErrandHindered)]) == 1


def test_crashes_inside_an_event_count_as_well() -> None:
    world = RealWorld("alpha")
    world.adopt("web")
    for number in range(3):
        world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
        assert world.due_kinds() == {"web": ErrandKind.RESTART}
        found = world.try_it("web")
        world.report(found, "done", seen=Sighting("ref-web", "alpha", RUNNING, f"boot-{number + 2}"))
        world.maintain(Cause.FREEZE, "alpha")  # the next crash is in the middle of this
        world.try_it("web")
    world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
    assert world.power("web") is Power.STOPPED
    assert "has crashed 4 times" in world.machine("web").alarm


def test_crashes_of_one_machine_while_an_event_pauses_another_count_too() -> None:
    world = RealWorld("alpha")
    for name in ("db", "web"):
        world.adopt(name, spec=in_set("front"))
    world.read("db")  # a VM of a set that reads is announced its events together with the others
    (event_id,) = world.maintain(Cause.FREEZE, "alpha")
    world.approve(event_id)
    assert set(world.event(event_id).vms) == {"db", "web"}
    world.try_it("db")  # it stands still all the while
    world.try_it("web")
    for number in range(3):
        world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
        found = world.try_it("web")
        assert (found.errand.kind, found.errand.event) == (ErrandKind.RESTART, event_id)
        world.report(found, "done", seen=Sighting("ref-web", "alpha", RUNNING, f"boot-{number + 2}"))
    world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
    assert world.power("web") is Power.STOPPED
    assert "has crashed 4 times" in world.machine("web").alarm


def test_how_to_make_a_machine_again_is_kept_once_and_stands_in_no_errand() -> None:
    world = RealWorld()
    world.adopt("web")
    for _ in range(2):
        seen = Sighting("ref-web", "alpha", RUNNING, "boot-1", definition="<domain/>")
        world.do(c.Sight(ENGINE, Listing("alpha", True, (seen,)), world.now))
    assert world.machine("web").definition == "<domain/>"
    assert len([fact for fact in world.facts if isinstance(fact, mf.MachineDefined)]) == 1
    world.restart("web")
    (made,) = [fact for fact in world.facts if isinstance(fact, mf.ErrandMade)]
    assert made.errand.definition == ""
    huge = Sighting("ref-web", "alpha", RUNNING, "boot-1", definition="x" * 100_000)
    world.do(c.Sight(ENGINE, Listing("alpha", False, (huge,)), world.now))
    assert world.machine("web").definition == "<domain/>"


def test_a_stop_behind_a_creation_has_the_name_of_what_was_created() -> None:
    world = RealWorld()
    world.create("web", spec=VmSpec(engine=ENGINE, blueprint="web"))
    world.try_it("web")
    world.do(c.StopVms(("web",)))
    world.carry_out("web")
    stop = world.due()["web"].errand
    assert (stop.kind, bool(stop.ref)) == (ErrandKind.STOP, True)
