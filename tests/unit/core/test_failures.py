"""Hosts that break: events born started, and VMs rebuilt elsewhere."""

from __future__ import annotations

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.region import HostHealth, Power
from forewarn.core.rules import Rules
from forewarn.terms import EventSource, EventStatus, EventType
from tests.unit.core.world import DAY, MINUTE, NOON, SECOND, World, in_set, kinds


def test_a_failure_is_born_started_and_rebuilds_the_vm_elsewhere(world: World) -> None:
    world.reading("web")
    (event_id,) = world.fail("host-0")
    seen = world.seen("web")
    assert (seen.status, seen.not_before) == (EventStatus.STARTED, None)
    assert (seen.type, seen.source) == (EventType.REDEPLOY, EventSource.PLATFORM)
    assert (seen.description, seen.duration_seconds) == ("Virtual machine has encountered a failure.", -1)
    assert world.event(event_id).started_at == NOON
    world.advance(60 * SECOND)
    assert (world.vm("web").boots, world.vm("web").traits.ephemeral_disks) == (2, 2)
    assert world.host_of("web").number != 0
    world.advance(10 * MINUTE)
    assert world.document("web").events == ()


def test_a_host_that_fails_again_while_its_vms_are_rebuilt_fails_them_no_second_time(world: World) -> None:
    world.reading("web")
    (event_id,) = world.fail("host-0")
    world.advance(30 * SECOND)
    assert world.fail("host-0") == []
    assert world.vm("web").events == (event_id,)
    world.advance(30 * SECOND)
    assert world.vm("web").boots == 2


def test_a_vm_whose_new_host_fails_too_is_rebuilt_again(world: World) -> None:
    world.reading("web")
    world.fail("host-0")
    world.advance(60 * SECOND)
    assert len(world.fail(world.host_of("web").name)) == 1
    world.advance(60 * SECOND)
    assert world.vm("web").boots == 3


def test_a_failure_waits_for_no_other_tenants_approval() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("a", "b")
    world.create("quiet")
    world.fail("host-0")
    assert world.statuses("a") == world.statuses("b") == ["Started"]
    assert world.vm("quiet").power is Power.REDEPLOYING


def test_the_hosts_pending_maintenance_is_withdrawn(world: World) -> None:
    world.reading("web")
    (pending,) = world.maintain(Cause.FREEZE, "host-0")
    facts = world.do(c.FailHosts(("host-0",), "s"))
    assert kinds(facts) == ["EventCanceled", "HostMarked", "EventBornStarted"]
    assert world.gone(pending)


def test_a_restart_that_a_user_asked_for_survives_the_failure_of_its_host(world: World) -> None:
    world.reading("web")
    (restart,) = world.restart("web")
    world.fail("host-0")
    assert not world.gone(restart)


def test_a_broken_host_takes_no_vm_ever_again(world: World) -> None:
    world.create("a")
    world.fail("host-0")
    world.advance(60 * SECOND)
    world.create("b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p")
    assert len(world.region.hosts[0].vms) == 0


def test_a_host_that_is_expected_to_fail_takes_no_vm_either(world: World) -> None:
    world.create("a")
    world.maintain(Cause.PREDICTED_FAILURE, "host-0")
    assert world.region.hosts[0].health is HostHealth.FAILING
    world.advance(60 * SECOND)
    assert len(world.region.hosts[0].vms) == 0


def test_what_has_failed_is_not_expected_to_fail(world: World) -> None:
    world.create("a")
    world.fail("host-0")
    world.maintain(Cause.PREDICTED_FAILURE)
    assert world.region.hosts[0].health is HostHealth.FAILED


def test_a_predicted_failure_waits_a_week_unless_somebody_approves(world: World) -> None:
    world.reading("web-0", spec=in_set("front"))
    (event_id,) = world.maintain(Cause.PREDICTED_FAILURE, "host-0")
    for _ in range(8):
        world.read("web-0")
        world.advance(DAY - MINUTE)
    assert world.gone(event_id)
    started = next(fact for fact in world.facts if type(fact).__name__ == "EventStarted")
    assert started.at == NOON + 7 * DAY


def test_several_hosts_fail_together() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    world.reading("a", "b", "c")
    assert len(world.fail("host-0", "host-2")) == 2
    world.advance(60 * SECOND)
    assert {world.host_of(name).health for name in "abc"} == {HostHealth.HEALTHY}


def test_a_host_named_twice_fails_once(world: World) -> None:
    world.reading("a")
    assert len(world.fail("host-0", "HOST-0")) == 1


def test_a_host_has_one_name(world: World) -> None:
    world.reading("a")
    for name in ("host-00", "host-+0", "host", "host-", "0", "host-0 ", "host-\u0660", f"host-{'9' * 5000}"):
        assert world.refused(c.FailHosts(("host-0", name), "s")).hint is Hint.NOT_FOUND


def test_a_failure_without_a_host_is_refused_and_not_one_of_all_hosts(world: World) -> None:
    world.reading("a")
    assert world.refused(c.FailHosts((), "s")).hint is Hint.INVALID
