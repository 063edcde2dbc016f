"""Hosts that are drained, and machines to which not everything can be done."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines.values import ErrandKind, Sighting
from forewarn.core.region import HostHealth, Power
from forewarn.core.rules import NotMigratable, Rules
from forewarn.core.specs import NO_BINDING, VmSpec
from tests.unit.core.real_world import RUNNING, RealWorld

MIGRATE, REDEPLOY, PAUSE, RESTART = ErrandKind.MIGRATE, ErrandKind.REDEPLOY, ErrandKind.PAUSE, ErrandKind.RESTART


def adopt(world: RealWorld, vm: str, *cannot: ErrandKind, host: str = "alpha") -> None:
    ref = f"ref-{vm}"
    world.do(c.AdoptMachine(vm, VmSpec(), world.seed(), host, ref, "boot-1", RUNNING, NO_BINDING, cannot, "address"))


def drain(world: RealWorld, host: str = "alpha") -> None:
    world.do(c.DrainHost(host, world.seed()))


def test_vms_of_a_drained_host_are_moved_while_they_run_or_started_anew_elsewhere() -> None:
    world = RealWorld("alpha", "beta")
    adopt(world, "web")
    adopt(world, "gpu", MIGRATE)

    drain(world)

    assert world.health("alpha") is HostHealth.DRAINING
    assert world.due_kinds() == {"web": MIGRATE, "gpu": REDEPLOY}
    world.carry_out("web")
    world.carry_out("gpu")
    assert (world.home("web"), world.home("gpu")) == ("beta", "beta")


def test_nothing_is_placed_at_a_drained_host_until_it_is_resumed() -> None:
    world = RealWorld("alpha", "beta")
    drain(world)
    adopt(world, "web", host="beta")

    assert "no host" in world.refused(c.RedeployVms(("web",), "s")).message.lower()
    refused = world.refused(c.AdoptMachine("db", VmSpec(), "s", "alpha", "ref-db"))
    assert refused.message == "Host 'alpha' is draining; let it take machines again first ('host resume')."

    world.do(c.ResumeHost("alpha"))
    world.do(c.RedeployVms(("web",), "s"))
    assert world.due()["web"].errand.to == "alpha"


def test_an_errand_that_waits_for_room_finds_it_where_a_host_is_resumed() -> None:
    world = RealWorld("alpha", "beta")
    adopt(world, "web", host="beta")
    drain(world)
    world.do(c.StartCampaign("C1", Cause.REDEPLOY))
    assert not world.due()

    world.do(c.ResumeHost("alpha"))

    assert world.due()["web"].errand.to == "alpha"


@pytest.mark.parametrize("lost", [False, True])
def test_a_drained_host_that_falls_silent_is_drained_still_when_it_is_back(lost: bool) -> None:
    world = RealWorld("alpha", "beta")
    drain(world)
    world.do(c.HostFellSilent("alpha"))
    world.refused(c.DrainHost("alpha", "s"))
    if lost:
        world.do(c.ConfirmLost("alpha", "someone"))
        world.advance(timedelta(seconds=1))
        world.sees("alpha", complete=True)
    else:
        world.do(c.HostAnswered("alpha"))

    assert world.health("alpha") is HostHealth.DRAINING


def test_a_silent_host_that_is_resumed_takes_machines_when_it_answers() -> None:
    world = RealWorld("alpha", "beta")
    drain(world)
    world.do(c.HostFellSilent("alpha"))
    world.do(c.ResumeHost("alpha"))
    assert world.health("alpha") is HostHealth.SILENT
    world.refused(c.ResumeHost("alpha"))

    world.do(c.HostAnswered("alpha"))

    assert world.health("alpha") is HostHealth.HEALTHY


def test_a_host_without_room_elsewhere_is_not_drained_and_nothing_is_changed() -> None:
    world = RealWorld("alpha")
    adopt(world, "web")
    before = world.region

    assert "has room for VM 'web'" in world.refused(c.DrainHost("alpha", "s")).message

    assert world.region == before


def test_a_vm_that_is_down_stays_at_a_drained_host_and_starts_elsewhere() -> None:
    world = RealWorld("alpha", "beta")
    adopt(world, "web")
    world.do(c.StopVms(("web",)))
    world.carry_out("web")
    drain(world)
    assert (world.power("web"), world.home("web")) == (Power.STOPPED, "alpha")
    assert not world.due()

    world.do(c.StartVms(("web",)))

    assert world.due()["web"].errand.to == "beta"


def test_a_failed_host_is_resumed_too() -> None:
    world = RealWorld("alpha", "beta")
    world.do(c.FailHosts(("alpha",), "s"))
    assert world.health("alpha") is HostHealth.FAILED

    world.do(c.ResumeHost("alpha"))

    assert world.health("alpha") is HostHealth.HEALTHY


# What cannot be moved while it runs


@pytest.mark.parametrize(("choice", "kind"), [(NotMigratable.FREEZE, PAUSE), (NotMigratable.REBOOT, RESTART)])
def test_a_machine_that_cannot_be_moved_gets_what_the_owner_has_chosen(choice: NotMigratable, kind: ErrandKind) -> None:
    world = RealWorld("alpha", "beta")
    world.rules = Rules(when_not_migratable=choice)
    adopt(world, "web")
    adopt(world, "gpu", MIGRATE)

    world.do(c.MaintainHosts(("alpha",), Cause.LIVE_MIGRATION, world.seed()))

    assert world.due_kinds() == {"web": MIGRATE, "gpu": kind}


def test_otherwise_maintenance_and_campaigns_that_would_move_it_are_refused() -> None:
    world = RealWorld("alpha", "beta")
    adopt(world, "gpu", MIGRATE)
    before = world.region

    for command in (
        c.MaintainHosts(("alpha",), Cause.LIVE_MIGRATION, "s"),
        c.StartCampaign("C1", Cause.LIVE_MIGRATION),
        c.StartCampaign("C1", Cause.LIVE_MIGRATION, hosts=("alpha",)),
    ):
        assert "'gpu' cannot be asked to migrate" in world.refused(command).message
    assert world.region == before
    world.do(c.StartCampaign("C1", Cause.LIVE_MIGRATION, hosts=("beta",)))


def test_an_engine_that_moves_nothing_refuses_campaigns_of_live_migrations_whatever_is_chosen() -> None:
    world = RealWorld("beta")
    world.rules = Rules(when_not_migratable=NotMigratable.FREEZE)
    world.register("alpha", kinds=(PAUSE, RESTART, REDEPLOY))
    adopt(world, "web")

    refused = world.refused(c.StartCampaign("C1", Cause.LIVE_MIGRATION))

    assert refused.message == "VM 'web' cannot be asked to migrate: engine 'twin' does not do that."


def test_one_that_comes_while_a_campaign_runs_is_left_out_where_nothing_is_chosen() -> None:
    world = RealWorld("alpha", "beta")
    world.do(c.StartCampaign("C1", Cause.LIVE_MIGRATION, hosts=("alpha", "beta")))
    adopt(world, "web")
    world.start_campaign("C2", Cause.LIVE_MIGRATION)
    adopt(world, "gpu", MIGRATE, host="beta")
    world.carry_out("web")
    world.advance(timedelta(minutes=1))

    assert "gpu" not in world.due_kinds()


# What is announced


def moved(world: RealWorld, stood_ms: int) -> None:
    world.do(c.MaintainHosts((world.home("web"),), Cause.LIVE_MIGRATION, world.seed()))
    found = world.try_it("web")
    seen = Sighting("ref-web", found.errand.to, RUNNING, found.errand.boot_mark, stood_ms=stood_ms)
    world.report(found, "done", seen=seen)
    world.advance(timedelta(hours=1))


@pytest.mark.parametrize(("wanted", "stood_ms", "told"), [(True, 1200, 2), (True, 0, 5), (False, 1200, 5)])
def test_a_live_migration_announces_the_pause_that_was_measured_if_that_is_wanted(
    wanted: bool, stood_ms: int, told: int
) -> None:
    world = RealWorld("alpha", "beta")
    world.rules = Rules(duration_from_engine=wanted, durations={Cause.LIVE_MIGRATION: 5})
    adopt(world, "web")
    moved(world, stood_ms)
    moved(world, 0)  # not measured this time: what is known stays

    world.do(c.MaintainHosts((world.home("web"),), Cause.LIVE_MIGRATION, world.seed()))

    (event,) = world.region.events.values()
    assert event.duration_seconds == told
