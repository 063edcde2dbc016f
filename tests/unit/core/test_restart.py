"""A lone VM is restarted by its owner: the story that everything else varies."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.phases import Phase
from forewarn.core.region import Power
from forewarn.core.rules import Rules
from forewarn.terms import Document, EventSource, EventStatus, EventType, ScheduledEvent
from tests.unit.core.world import HOUR, MINUTE, NOON, SECOND, World, kinds


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


def test_a_restart_that_is_not_approved_starts_at_not_before(world: World) -> None:
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
    assert (world.vm("web").host, world.vm("web").traits.ephemeral_disks) == (home, 1)


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


def test_a_second_restart_joins_the_first_until_its_impact_is_over(world: World) -> None:
    world.reading("web")
    (first,) = world.restart("web")
    assert world.restart("WEB") == []
    world.approve(first)
    assert world.restart("web") == []
    world.advance(30 * SECOND)
    assert (world.vm("web").boots, world.statuses("web")) == (2, ["Started"])
    (second,) = world.restart("web")
    assert [event.event_id for event in world.document("web").events] == [first, second]


def test_an_operation_that_joins_a_restart_waits_for_the_event_that_is_there(world: World) -> None:
    world.reading("web")
    (first,) = world.restart("web")
    world.do(c.Together((c.RestartVms(("web",), world.seed()),), "0f0e", "restart"))
    assert set(world.region.operations["0f0e"].waiting) == {first}


def test_another_operation_waits_until_the_vm_is_out_of_the_first_ones_hands(world: World) -> None:
    world.reading("web")
    (restart,) = world.restart("web")
    (redeploy,) = world.redeploy("web")
    world.approve(redeploy)
    world.approve(restart)
    assert world.vm("web").power is Power.REDEPLOYING
    assert world.statuses("web") == ["Scheduled", "Started"]
    world.advance(60 * SECOND)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.RESTARTING, 2)
    world.advance(30 * SECOND)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.RUNNING, 3)


def test_impacts_on_one_vm_do_not_overlap_even_when_not_before_has_passed() -> None:
    world = World(drives=False)
    world.reading("web")
    (restart,) = world.restart("web")
    (redeploy,) = world.redeploy("web")
    world.approve(restart)
    world.begin(restart)
    world.advance(HOUR)
    assert world.event(redeploy).started_at is None
    world.end(restart)
    assert world.event(redeploy).started_at == world.now


@pytest.mark.parametrize("automatic", [False, True])
def test_an_event_that_needs_no_approval_waits_for_its_turn_too(automatic: bool) -> None:
    world = World(drives=False)
    (world.reading if automatic else world.create)("web")
    if automatic:
        world.set_policy("vm/web", auto_approve_reboot=True, auto_approve_redeploy=True)
    (restart,), (redeploy,) = world.restart("web"), world.redeploy("web")
    assert (world.event(restart).phase, world.event(redeploy).phase) == ("started", "approved")
    world.begin(restart)
    world.end(restart)
    assert world.event(redeploy).started_at == world.now


def test_a_host_that_fails_asks_nobody_and_nothing_else_begins_until_its_vms_are_rebuilt(world: World) -> None:
    world.reading("web")
    (restart,) = world.restart("web")
    world.approve(restart)
    (failure,) = world.fail("host-0")
    (redeploy,) = world.redeploy("web")
    world.approve(redeploy)
    assert (world.event(failure).phase, world.event(redeploy).phase) == ("started", "approved")
    world.advance(HOUR)
    assert world.gone(redeploy)
    assert world.vm("web").boots == 4


def test_the_work_on_a_host_reaches_a_vm_that_is_in_other_hands_when_those_are_done() -> None:
    world = World(Rules(update_domains=1, fault_domains=1), drives=False)
    world.create("a", "b")
    (restart,) = world.restart("a")
    of_a, of_b = sorted(world.maintain(Cause.FREEZE, "host-0"), key=lambda key: world.event(key).vms)
    assert (world.event(of_a).phase, world.event(of_b).phase) == ("approved", "started")
    world.begin(restart)
    world.end(restart)
    assert world.event(of_a).started_at == world.now


def test_an_engine_may_take_its_time_and_reports_the_end_itself() -> None:
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


def test_what_an_engine_says_twice_or_of_nothing_is_passed_over() -> None:
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
