"""Several scopes on one host: one event each, and the host is worked on once."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.deciding.events import NOBODY_READS
from forewarn.core.phases import Phase
from forewarn.core.region import Power
from forewarn.core.rules import Rules
from tests.unit.core.world import MINUTE, NOON, SECOND, World, in_set, kinds


@pytest.fixture
def world() -> World:
    """One host for everybody."""
    return World(Rules(update_domains=1, fault_domains=1))


def test_each_scope_on_the_host_gets_its_own_event(world: World) -> None:
    world.reading("a")
    world.reading("b")
    world.reading("s-0", "s-1", spec=in_set("s"))
    ids = world.maintain(Cause.REBOOT, "host-0")
    assert len(set(ids)) == 3
    assert [world.seen(name).resources for name in ("a", "b", "s-0")] == [("a",), ("b",), ("s-0", "s-1")]
    assert {world.event(event_id).host for event_id in ids} == {0}


def test_an_approved_tenant_waits_for_the_others_and_looks_scheduled_meanwhile(world: World) -> None:
    world.reading("a")
    world.reading("b")
    world.maintain(Cause.REBOOT, "host-0")
    first, second = world.seen("a").event_id, world.seen("b").event_id
    before = world.document("a")
    assert kinds(world.approve(first, by="a", scope="vm/a")) == ["EventApproved"]
    assert world.event(first).phase is Phase.APPROVED
    assert world.document("a") == before
    world.advance(MINUTE)
    assert kinds(world.approve(second, by="b", scope="vm/b")) == ["EventApproved", "EventStarted", "EventStarted"]
    assert world.statuses("a") == world.statuses("b") == ["Started"]
    assert world.event(first).started_at == world.event(second).started_at == NOON + MINUTE


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_the_order_of_the_approvals_does_not_matter(order: tuple[str, ...], world: World) -> None:
    for name in "abc":
        world.reading(name)
    world.maintain(Cause.FREEZE, "host-0")
    for place, name in enumerate(order):
        assert world.statuses("a") == ["Scheduled"], place
        world.approve(world.seen(name).event_id)
    assert [world.statuses(name) for name in "abc"] == [["Started"]] * 3


def test_at_not_before_all_events_of_a_host_start_whether_approved_or_not(world: World) -> None:
    world.reading("a")
    world.reading("b")
    world.maintain(Cause.FREEZE, "host-0")
    world.approve(world.seen("a").event_id)
    world.advance(15 * MINUTE - SECOND)
    assert world.statuses("a") == ["Scheduled"]
    world.advance(SECOND)
    assert world.statuses("a") == world.statuses("b") == ["Started"]


def test_a_tenant_that_does_not_read_is_not_awaited_and_not_told(world: World) -> None:
    world.reading("a")
    world.create("quiet")
    world.maintain(Cause.REBOOT, "host-0")
    (silent,) = world.vm("quiet").events
    assert world.event(silent).approved_by == NOBODY_READS
    assert world.vm("quiet").power is Power.RUNNING
    world.approve(world.seen("a").event_id)
    assert world.vm("quiet").power is Power.RESTARTING
    world.read("quiet")
    assert world.document("quiet").events == ()


def test_where_no_tenant_reads_the_host_is_worked_on_at_once(world: World) -> None:
    world.create("a", "b")
    ids = world.maintain(Cause.REBOOT, "host-0")
    assert {world.event(event_id).started_at for event_id in ids} == {NOON}


def test_a_tenant_that_leaves_is_no_longer_awaited(world: World) -> None:
    world.reading("a")
    world.reading("b")
    world.maintain(Cause.FREEZE, "host-0")
    world.approve(world.seen("a").event_id)
    facts_before = len(world.facts)
    world.delete("b")
    assert kinds(world.facts[facts_before:])[:3] == ["VmDeleted", "EventCanceled", "EventStarted"]
    assert world.statuses("a") == ["Started"]


def test_the_last_two_approvals_may_come_in_one_request(world: World) -> None:
    world.reading("a")
    world.reading("b")
    ids = world.maintain(Cause.FREEZE, "host-0")
    world.approve(*ids)
    assert world.statuses("a") == world.statuses("b") == ["Started"]


def test_two_hosts_do_not_wait_for_each_other() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    world.reading("a")
    world.reading("b")
    world.maintain(Cause.FREEZE)
    world.approve(world.seen("a").event_id)
    assert (world.statuses("a"), world.statuses("b")) == (["Started"], ["Scheduled"])


def test_two_works_on_one_host_do_not_wait_for_each_other(world: World) -> None:
    world.reading("a")
    world.reading("b")
    first = world.maintain(Cause.FREEZE, "host-0")
    second = world.maintain(Cause.REBOOT, "host-0")
    world.approve(*first)
    assert [world.event(event_id).phase for event_id in first + second] == [Phase.STARTED] * 2 + [Phase.SCHEDULED] * 2


def test_a_host_without_vms_needs_nobodys_leave(world: World) -> None:
    world.reading("a")
    world.delete("a")
    assert world.maintain(Cause.FREEZE, "host-0") == []


def test_a_users_restart_does_not_wait_for_the_neighbours(world: World) -> None:
    world.reading("a")
    world.reading("b")
    world.maintain(Cause.FREEZE, "host-0")
    (event_id,) = world.restart("a")
    world.approve(event_id)
    assert world.event(event_id).phase is Phase.STARTED


def test_a_migration_empties_the_host_and_stays_in_its_domains(world: World) -> None:
    world.create("a", "b", "c")
    world.maintain(Cause.LIVE_MIGRATION, "host-0")
    world.advance(5 * SECOND)
    assert len(world.region.hosts[0].vms) == 0
    assert {world.host_of(name).number for name in "abc"} == {1}


def test_a_vm_that_was_redeployed_is_spared_by_its_old_hosts_maintenance(world: World) -> None:
    world.reading("web")
    (pending,) = world.maintain(Cause.REBOOT, "host-0")
    world.approve(*world.redeploy("web"), by="web")
    world.advance(60 * SECOND)
    assert world.host_of("web").number != 0
    assert world.gone(pending)
    world.advance(20 * MINUTE)
    assert world.vm("web").boots == 2


def test_a_vm_that_was_started_on_another_host_leaves_its_neighbours_to_their_event() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=2))
    world.create("a", "b", spec=in_set("front"))
    world.read("a")
    (pending,) = world.maintain(Cause.REBOOT, "host-0")
    world.deallocate("a")
    world.create("c")
    before = world.document("b").incarnation
    facts = world.do(c.StartVms(("a",)))
    assert world.document("b").incarnation == before + 1
    assert kinds(facts)[-2:] == ["VmStarted", "VmSpared"]
    assert (world.event(pending).vms, world.event(pending).resources) == (("b",), ("b",))
    world.advance(16 * MINUTE)
    assert world.vm("b").boots == 2
    assert world.vm("a").boots == 2, "it was started, and not restarted"
