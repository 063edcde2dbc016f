"""A scope reads and its events wait; it falls silent for a day and nothing waits any more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.retired import REMEMBERED, Retired
from forewarn.core.rules import Rules
from forewarn.core.specs import Policy, VmSpec
from forewarn.terms import Document
from tests.unit.core.world import DAY, HOUR, MINUTE, NOON, SECOND, SPOT, World, in_set, kinds


def test_a_scope_that_nobody_has_read_for_is_not_enabled(world: World) -> None:
    world.create("web")
    assert world.scope("web").enabled_at is None
    assert world.document("web") == Document(incarnation=0)


def test_the_first_read_of_any_vm_enables_its_scope_at_incarnation_one(world: World) -> None:
    world.create("web-0", "web-1", spec=in_set("front"))
    world.read("web-1")
    assert world.scope("web-0").enabled_at == NOON
    assert world.document("web-0") == Document(incarnation=1)


def test_further_reads_change_no_document(world: World) -> None:
    world.reading("web")
    world.advance(HOUR)
    assert kinds(world.do(c.Pulse((("web", world.now),)))) == ["ScopeRead"]
    assert world.document("web").incarnation == 1


def test_scopes_that_were_read_at_the_same_instant_share_a_fact(world: World) -> None:
    world.reading("a", "b", "c", "d")
    world.advance(2 * HOUR)
    sooner, now = world.now - HOUR, world.now
    facts = world.do(c.Pulse((("a", now), ("b", sooner), ("c", now), ("d", now), ("a", sooner))))
    assert kinds(facts) == ["ScopesRead", "ScopesRead"]
    assert [world.region.scopes[f"vm/{name}"].last_read_at for name in "abcd"] == [now, sooner, now, now]
    assert world.region.scopes["vm/b"].lapses_at == sooner + DAY


def test_a_read_that_is_known_already_is_not_news(world: World) -> None:
    world.reading("web")
    assert world.do(c.Pulse((("web", NOON), ("web", NOON - HOUR), ("nobody", NOON)))) == ()


def test_a_day_without_a_read_disables_to_the_second(world: World) -> None:
    world.reading("web")
    world.advance(DAY - SECOND)
    assert world.scope("web").enabled_at == NOON
    world.advance(SECOND)
    assert world.scope("web").enabled_at is None
    assert world.document("web").incarnation == 1  # of the last document that somebody could see


@pytest.mark.parametrize("age", [SECOND, HOUR, DAY - SECOND])
def test_the_day_counts_from_the_last_read_of_anyone_in_the_scope(age: timedelta, world: World) -> None:
    world.create("web-0", "web-1", spec=in_set("front"))
    world.read("web-0")
    world.advance(age)
    world.read("web-1")
    world.advance(DAY - SECOND)
    assert world.scope("web-0").enabled_at == NOON
    world.advance(SECOND)
    assert world.scope("web-0").enabled_at is None


def test_a_read_reported_late_counts_from_when_it_was(world: World) -> None:
    world.reading("web")
    world.advance(10 * HOUR)
    world.do(c.Pulse((("web", NOON + 3 * HOUR),)))
    world.advance(17 * HOUR - SECOND)
    assert world.scope("web").enabled_at is not None
    world.advance(SECOND)
    assert world.scope("web").enabled_at is None


def test_a_read_reported_at_the_last_instant_still_counts(world: World) -> None:
    world.reading("web")
    world.now += DAY
    world.do(c.Pulse((("web", NOON + HOUR),)))
    assert world.scope("web").enabled_at == NOON


def test_other_scopes_reads_do_not_count(world: World) -> None:
    world.reading("a")
    world.reading("b")
    world.advance(DAY - HOUR)
    world.read("b")
    world.advance(HOUR)
    assert world.scope("a").enabled_at is None
    assert world.scope("b").enabled_at is not None


def test_enabled_again_the_incarnation_goes_on(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.approve(event_id)
    world.advance(2 * DAY)
    world.read("web")
    assert world.document("web") == Document(incarnation=5)


def test_what_was_scheduled_keeps_its_not_before_and_is_there_when_somebody_reads_again(world: World) -> None:
    world.reading("web")
    world.advance(DAY - MINUTE)
    (event_id,) = world.restart("web")
    world.advance(2 * MINUTE)
    assert (world.scope("web").enabled_at, world.document("web").incarnation) == (None, 2)
    world.read("web")
    assert world.document("web").incarnation == 3
    assert (world.seen("web").event_id, world.seen("web").status) == (event_id, "Scheduled")
    world.approve(event_id, by="web", scope="vm/web")
    assert world.document("web").incarnation == 4


def test_an_event_of_a_silent_scope_runs_its_course(world: World) -> None:
    world.reading("web")
    world.advance(DAY - MINUTE)
    (event_id,) = world.restart("web")
    world.advance(15 * MINUTE)
    assert world.event(event_id).started_at is not None
    world.advance(MINUTE)
    assert world.gone(event_id)
    assert world.document("web") == Document(incarnation=2)


def test_once_a_scope_is_disabled_nothing_waits_for_its_approval(world: World) -> None:
    world.reading("web")
    world.advance(DAY)
    (event_id,) = world.restart("web")
    assert world.event(event_id).started_at == world.now


def test_a_scope_that_is_not_enabled_loses_its_vms_without_notice(world: World) -> None:
    world.create("a", spec=VmSpec(terminate_notice=5 * MINUTE))
    world.create("b")
    assert world.delete("a", "b") == []
    assert len(world.region.vms) == 0


def test_a_spot_vm_that_nobody_reads_for_is_evicted_at_once(world: World) -> None:
    world.create("web", spec=SPOT)
    (event_id,) = world.evict("web")
    assert world.event(event_id).started_at == NOON


def test_a_read_during_unannounced_work_does_not_reveal_it(world: World) -> None:
    world.create("web")
    world.maintain(Cause.FREEZE)
    world.read("web")
    world.advance(HOUR)
    assert world.document("web") == Document(incarnation=1)


_ONE_HOST = Rules(update_domains=1, fault_domains=1)


@pytest.mark.parametrize("cause", [Cause.REBOOT, Cause.FREEZE, Cause.PREDICTED_FAILURE])
def test_a_scope_that_begins_to_read_is_told_what_is_ahead_and_waited_for(cause: Cause) -> None:
    world = World(_ONE_HOST)
    world.reading("a")
    world.create("b")
    world.maintain(cause, "host-0")
    ahead = world.seen("a").not_before
    world.advance(MINUTE)
    facts = world.do(c.Pulse((("b", world.now),)))
    assert kinds(facts) == ["EventAnnounced", "ScopeEnabled"]
    assert world.document("b").incarnation == 1
    assert (world.seen("b").status, world.seen("b").not_before) == ("Scheduled", ahead)
    world.approve(world.seen("a").event_id, by="a", scope="vm/a")
    assert world.statuses("a") == world.statuses("b") == ["Scheduled"]
    world.approve(world.seen("b").event_id, by="b", scope="vm/b")
    assert world.statuses("a") == world.statuses("b") == ["Started"]
    world.advance(6 * MINUTE)
    assert world.statuses("b") == ["Started"], "who is told is given the time to recover"
    world.advance(HOUR)
    assert world.document("b").events == ()


def test_a_scope_that_begins_to_read_and_does_not_approve_is_hit_at_not_before() -> None:
    world = World(_ONE_HOST)
    world.reading("a")
    world.create("b")
    world.maintain(Cause.REBOOT, "host-0")
    world.read("b")
    world.approve(world.seen("a").event_id)
    world.advance(15 * MINUTE - SECOND)
    assert world.statuses("b") == ["Scheduled"]
    world.advance(SECOND)
    assert world.statuses("a") == world.statuses("b") == ["Started"]


def test_where_all_who_begin_to_read_are_down_nobody_waits_for_them() -> None:
    world = World(_ONE_HOST)
    world.reading("a")
    world.create("b")
    world.maintain(Cause.REBOOT, "host-0")
    world.deallocate("b")
    world.read("b")
    world.approve(world.seen("a").event_id)
    assert world.statuses("a") == world.statuses("b") == ["Started"]


def test_a_restart_that_waits_for_its_turn_is_told_to_a_scope_that_begins_to_read() -> None:
    world = World(drives=False)
    world.create("web")
    (redeploy,), (restart,) = world.redeploy("web"), world.restart("web")
    world.read("web")
    assert (world.seen("web").event_id, world.seen("web").status) == (restart, "Scheduled")
    world.begin(redeploy)
    world.end(redeploy)
    assert world.statuses("web") == ["Scheduled"], "it waits for the approval now"


def test_a_restart_that_the_policy_approves_waits_for_its_turn_and_for_no_approval() -> None:
    world = World(drives=False)
    world.create("web")
    world.set_policy("vm/web", auto_approve_reboot=True)
    (redeploy,), (restart,) = world.redeploy("web"), world.restart("web")
    world.read("web")
    assert world.event(restart).phase == "approved"
    world.begin(redeploy)
    world.end(redeploy)
    assert world.statuses("web") == ["Started"]


def test_a_reimage_that_nobody_is_told_of_stays_so() -> None:
    world = World(drives=False)
    world.create("web")
    world.restart("web")
    world.do(c.ReimageVms(("web",), world.seed()))
    world.read("web")
    assert world.document("web").events == ()


def test_an_owner_may_choose_after_how_long_a_silent_scope_is_disabled() -> None:
    world = World(Rules(disable_after=HOUR))
    world.reading("web")
    world.advance(HOUR - SECOND)
    assert world.scope("web").enabled_at == NOON
    world.advance(SECOND)
    assert world.scope("web").enabled_at is None


def test_a_shorter_time_until_disabling_counts_from_the_next_read(world: World) -> None:
    world.reading("web")
    world.rules = Rules(disable_after=HOUR)
    world.advance(MINUTE)
    world.read("web")
    world.advance(HOUR)
    assert world.scope("web").enabled_at is None


def test_a_deleted_vms_name_starts_afresh_but_for_the_numbers_of_its_documents(world: World) -> None:
    world.reading("web")
    world.restart("web")
    world.delete("web")
    world.create("web")
    assert world.scope("web").enabled_at is None
    assert world.document("web") == Document(incarnation=0)
    world.advance(2 * DAY)
    world.read("web")
    assert world.document("web") == Document(incarnation=3)


@pytest.mark.parametrize("policy", [False, True])
def test_numbers_go_on_over_any_number_of_lives_and_enablings(policy: bool, world: World) -> None:
    seen = []
    for _ in range(3):
        world.create("web")
        if policy:  # gives the VM a scope record before anybody reads
            world.do(c.SetPolicy("vm/web", Policy()))
        for _ in range(2):
            world.read("web")
            seen.append(world.document("web").incarnation)
            world.advance(DAY)
        world.delete("web")
    assert seen == [1, 2, 3, 4, 5, 6]


def test_a_set_that_was_removed_and_one_of_its_name_are_told_apart_by_their_numbers(world: World) -> None:
    world.reading("web-0", spec=in_set("front"))
    world.restart("web-0")
    world.delete("web-0")
    world.do(c.DeleteAvailabilitySet("front"))
    world.reading("web-1", spec=in_set("Front"))
    assert world.document("web-1").incarnation == 4


def test_only_the_last_scopes_that_went_are_remembered() -> None:
    retired = Retired()
    for number in range(REMEMBERED + 2):
        retired = retired.having(f"vm/{number}", number + 1)
    kept = [retired.last_of(f"vm/{number}") for number in (0, 1, 2, REMEMBERED + 1)]
    assert kept == [0, 0, 3, REMEMBERED + 2]
    assert len(retired.numbers) == len(retired.order) == REMEMBERED
    again = retired.without("vm/2")
    assert (again.last_of("vm/2"), len(again.numbers), len(again.order)) == (0, REMEMBERED - 1, REMEMBERED - 1)


def test_a_set_stays_enabled_when_its_last_vm_goes(world: World) -> None:
    world.reading("web-0", spec=in_set("front"))
    world.delete("web-0")
    world.create("web-1", spec=in_set("front"))
    assert world.scope("web-1").enabled_at == NOON
