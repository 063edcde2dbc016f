"""A lone VM is restarted by its owner: the story that everything else varies."""

from __future__ import annotations

from forewarn.core.lifecycle import Phase
from forewarn.core.region import Power
from forewarn.terms import Document, EventSource, EventStatus, EventType, ScheduledEvent
from tests.unit.core.world import MINUTE, NOON, SECOND, World, kinds


def test_a_vm_that_reads_is_told_of_its_restart_a_quarter_of_an_hour_ahead(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    assert world.document("web") == Document(
        incarnation=2,
        events=(
            ScheduledEvent(
                event_id=event_id,
                status=EventStatus.SCHEDULED,
                type=EventType.REBOOT,
                resources=("web",),
                not_before=NOON + 15 * MINUTE,
                description="Virtual machine is going to be restarted as requested by authorized user.",
                source=EventSource.USER,
                duration_seconds=-1,
            ),
        ),
    )
    assert world.vm("web").power is Power.RUNNING


def test_an_approved_restart_starts_at_once_and_loses_its_not_before(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.advance(4 * MINUTE)
    facts = world.approve(event_id, by="web", scope="vm/web")
    assert kinds(facts) == ["EventApproved", "EventStarted"]
    assert (world.seen("web").status, world.seen("web").not_before) == (EventStatus.STARTED, None)
    assert world.document("web").incarnation == 3
    event = world.event(event_id)
    assert (event.approved_by, event.approved_at, event.started_at) == ("web", world.now, world.now)


def test_nobody_approves_and_the_restart_starts_at_not_before(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.advance(15 * MINUTE - SECOND)
    assert world.statuses("web") == ["Scheduled"]
    world.advance(SECOND)
    assert world.statuses("web") == ["Started"]
    assert world.event(event_id).approved_at is None


def test_the_machine_goes_down_comes_back_and_the_event_leaves_half_a_minute_later(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.approve(event_id)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.RESTARTING, 1)
    home = world.vm("web").host
    world.advance(30 * SECOND)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.RUNNING, 2)
    assert world.statuses("web") == ["Started"]
    world.advance(29 * SECOND)
    assert world.statuses("web") == ["Started"]
    world.advance(SECOND)
    assert world.document("web") == Document(incarnation=4)
    assert (world.vm("web").host, world.vm("web").ephemeral_disks) == (home, 1)


def test_the_event_keeps_its_id_for_all_its_life(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    assert world.seen("web").event_id == event_id == event_id.upper()
    world.approve(event_id.lower())
    assert world.seen("web").event_id == event_id


def test_approving_twice_or_too_late_changes_nothing(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.approve(event_id, event_id, by="first")
    before = world.document("web")
    assert world.approve(event_id, by="second") == ()
    assert world.document("web") == before
    assert world.event(event_id).approved_by == "first"


def test_two_restarts_of_one_vm_are_two_events(world: World) -> None:
    world.reading("web")
    (first,) = world.restart("web")
    (second,) = world.restart("WEB")
    assert first != second
    assert [event.event_id for event in world.document("web").events] == [first, second]


def test_a_vm_under_two_impacts_is_running_again_after_the_last(world: World) -> None:
    world.reading("web")
    (restart,) = world.restart("web")
    (redeploy,) = world.redeploy("web")
    world.approve(redeploy)
    world.approve(restart)
    assert world.vm("web").power is Power.RESTARTING
    world.advance(30 * SECOND)
    assert world.vm("web").power is Power.REDEPLOYING
    world.advance(30 * SECOND)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.RUNNING, 3)


def test_a_driver_may_take_its_time_and_reports_the_end_itself() -> None:
    world = World(drives=False)
    world.reading("web")
    (event_id,) = world.restart("web")
    world.approve(event_id)
    world.begin(event_id)
    assert world.vm("web").power is Power.RESTARTING
    world.advance(7 * MINUTE)
    assert world.event(event_id).impact_ended_at is None
    world.end(event_id)
    world.advance(30 * SECOND)
    assert world.gone(event_id)


def test_what_a_driver_says_twice_or_of_nothing_is_passed_over() -> None:
    world = World(drives=False)
    world.reading("web")
    (event_id,) = world.restart("web")
    world.begin(event_id)
    world.end(event_id)
    assert world.event(event_id).phase is Phase.SCHEDULED
    world.approve(event_id)
    world.end(event_id)
    assert world.event(event_id).impact_ended_at is None
    world.begin(event_id)
    began = world.event(event_id).impact_began_at
    world.advance(SECOND)
    world.begin(event_id)
    assert world.event(event_id).impact_began_at == began
    world.end(event_id)
    ended = world.event(event_id).impact_ended_at
    world.advance(SECOND)
    world.end(event_id)
    assert world.event(event_id).impact_ended_at == ended
    world.begin("NO-SUCH-EVENT")
    world.end("NO-SUCH-EVENT")
    assert [kind for kind in kinds(world.facts) if "Impact" in kind] == ["ImpactBegan", "ImpactEnded"]
