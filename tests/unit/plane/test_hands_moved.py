"""A machine that is not where the region has it: moved by hand, or gone. It never runs twice, and is made again once.

The oracle is the platform: how many copies of a machine run, at each quarter of a second.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines.values import Errand, ErrandKind, SeenWhy
from forewarn.core.region import HostHealth, Power
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinCall, TwinMisfortune, TwinMishap
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineSettings
from tests.unit.plane.hands_bench import RUNNING, Ground, deeds, health_of, live

THREE = ("alpha", "beta", "gamma")
ASKED: dict[str, c.Command] = {
    "restart": c.RestartVms(("web",), "seed/asked"),
    "redeploy": c.RedeployVms(("web",), "seed/asked"),
    "reimage": c.ReimageVms(("web",), "seed/asked"),
}


async def alone(ground: Ground, seconds: float = 0.0) -> None:
    """Until nothing is to be done any more, or for so long; at no instant do two copies run."""
    for _ in range(int(4 * (seconds or 1800.0))):
        await asyncio.sleep(0.25)
        running = [each.host for each in ground.platform.copies("web") if each.power is RUNNING]
        assert len(running) < 2, (running, ground.told()[-20:])
        if not seconds and not ground.region.errands:
            return
    assert seconds, ground.region.errands


@pytest.mark.parametrize("hints", ["given", "lost"])
@pytest.mark.parametrize("what", sorted(ASKED))
def test_one_that_was_moved_by_hand_a_moment_before_is_not_started_a_second_time(what: str, hints: str) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        before = ground.machine("web").mark
        ground.move_by_hand("web", "gamma", hints)
        await ground.do(ASKED[what])
        await alone(ground)
        assert ground.machine("web").power is RUNNING
        assert ground.machine("web").mark != before  # what was asked for was done, wherever it was by then
        assert ground.region.machines["web"].host == ground.machine("web").host
        if what == "restart":  # nobody has asked for it to be moved once more
            assert ground.machine("web").host == "gamma"
            assert deeds(ground) == ["restart"]

    live(story, hosts=THREE)


@pytest.mark.parametrize("what", sorted(ASKED))
def test_one_that_was_moved_by_hand_to_a_host_that_is_silent_is_started_nowhere_else(what: str) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        ground.move_by_hand("web", "gamma")
        ground.platform.fall_silent("gamma")
        await ground.do(ASKED[what])
        await alone(ground, 900.0)
        assert health_of(ground, "gamma") is HostHealth.SILENT
        assert [each.host for each in ground.platform.copies("web")] == ["gamma"]
        assert not deeds(ground)
        ground.platform.answer("gamma")
        await alone(ground)
        assert ground.machine("web").power is RUNNING

    live(story, hosts=THREE, settings=MachineSettings(fence_after=None))


@pytest.mark.parametrize("hints", ["given", "lost"])
def test_one_that_somebody_has_started_at_another_host_is_not_started_where_it_was(hints: str) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        await ground.do(c.StopVms(("web",)))
        await ground.until(lambda: ground.region.vms["web"].power is Power.STOPPED)
        ground.move_by_hand("web", "gamma", hints)
        ground.platform.hints = hints
        ground.platform.boot("web", "gamma")
        await ground.do(c.StartVms(("web",)))
        await alone(ground)
        assert deeds(ground) == ["stop"]
        assert ground.region.vms["web"].power is Power.RUNNING
        assert ground.region.machines["web"].host == "gamma"

    live(story, hosts=THREE)


@pytest.mark.parametrize("to", ["beta", "gamma"])
def test_one_that_is_moved_by_hand_while_its_redeployment_is_put_off_is_not_started_a_second_time(to: str) -> None:
    """To where it was to go, or to a third host."""

    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        busy = TwinMisfortune(TwinMishap.FAILED, TwinCall.STOP, "alpha", sentence="busy")
        ground.platform.misfortunes += [busy] * 8
        await ground.do(ASKED["redeploy"])
        await ground.until(lambda: not ground.platform.misfortunes)
        ground.move_by_hand("web", to)
        await alone(ground)
        assert ground.machine("web").power is RUNNING
        assert ground.region.machines["web"].host == ground.machine("web").host

    live(story, hosts=THREE)


def test_one_that_was_moved_by_hand_before_its_host_was_lost_is_followed_and_not_started_a_second_time() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        ground.platform.fall_silent("alpha")
        ground.move_by_hand("web", "gamma")
        await ground.until(lambda: ground.fenced == ["alpha"])
        await alone(ground)
        assert (ground.machine("web").host, ground.machine("web").power) == ("gamma", RUNNING)
        assert ground.region.machines["web"].host == "gamma"
        assert not deeds(ground)

    live(story, hosts=THREE)


def test_one_that_was_moved_by_hand_a_moment_before_its_host_was_called_lost_is_not_started_a_second_time() -> None:
    """The host that has it by now answers, and has not been listed since."""

    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        ground.platform.fall_silent("alpha")
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.SILENT)
        ground.move_by_hand("web", "gamma", "lost")
        await ground.do(c.ConfirmLost("alpha", "a person"))
        await alone(ground)
        assert (ground.machine("web").host, ground.machine("web").power) == ("gamma", RUNNING)
        assert ground.region.machines["web"].host == "gamma"
        assert not deeds(ground)

    live(story, hosts=THREE, settings=MachineSettings(fence_after=None))


def test_one_that_was_moved_by_hand_a_moment_before_it_is_deleted_is_deleted_where_it_is() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        ground.move_by_hand("web", "gamma", "lost")
        await ground.do(c.DeleteVms(("web",), "seed/delete"))
        await ground.until(lambda: not ground.region.vms)
        assert not ground.platform.copies("web")

    live(story, hosts=THREE)


class CannotAbort(TwinEngine):
    """Its first answers to who wants a migration ended are lost."""

    faults = 0

    def abandon(self, errand: Errand) -> None:
        if errand.kind is ErrandKind.MIGRATE and type(self).faults > 0:
            type(self).faults -= 1
            raise EngineFault("the connection broke")
        super().abandon(errand)


@pytest.mark.parametrize("faults", [0, 3])
def test_a_migration_that_is_late_is_given_up_once_it_was_really_aborted(faults: int) -> None:
    CannotAbort.faults = faults

    async def story(ground: Ground) -> None:
        ground.platform.migration_seconds = 100_000.0
        await ground.adopt("web")
        await ground.do(c.MaintainHosts(("alpha",), Cause.LIVE_MIGRATION, "seed/move"))
        await ground.until(lambda: "ErrandGivenUp" in ground.told())
        assert CannotAbort.faults == 0
        assert ground.machine("web").moving_to == ""

    live(story, engine=CannotAbort, settings=MachineSettings(migration_timeout=timedelta(minutes=2)))


# Gone


@pytest.mark.parametrize("hosts", [("alpha",), ("alpha", "beta"), THREE], ids=len)
def test_one_that_is_gone_from_every_host_is_made_again_where_it_was(hosts: tuple[str, ...]) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        ground.platform.drop("web", "alpha")
        await ground.until(lambda: bool(ground.platform.copies("web")))
        await alone(ground)
        assert (ground.machine("web").host, ground.machine("web").power) == ("alpha", RUNNING)
        assert ground.region.vms["web"].power is Power.RUNNING
        assert ground.region.machines["web"].alarm == ""

    live(story, hosts=hosts)


def test_one_that_is_gone_is_not_made_again_while_a_host_that_may_have_it_is_silent() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        ground.platform.fall_silent("gamma")
        await ground.until(lambda: health_of(ground, "gamma") is HostHealth.SILENT)
        ground.platform.drop("web", "alpha")
        await asyncio.sleep(1800.0)
        assert not ground.platform.copies("web")
        await ground.do(c.ConfirmLost("gamma", "a person"))
        await ground.until(lambda: bool(ground.platform.copies("web")))
        await alone(ground)
        assert ground.machine("web").power is RUNNING

    live(story, hosts=THREE, settings=MachineSettings(fence_after=None))


def test_one_that_cannot_be_made_again_is_given_up_when_its_patience_is_over() -> None:
    """Its engine says no for good each time it is asked to start."""

    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(20.0)
        no = TwinMisfortune(TwinMishap.REFUSED, TwinCall.RESTART, sentence="no memory left")
        ground.platform.misfortunes += [no] * 1000
        ground.platform.end("web", SeenWhy.CRASH)
        await asyncio.sleep(60.0 * 9)
        assert ground.region.errands
        await asyncio.sleep(60.0 * 4)
        assert "ErrandGivenUp" in ground.told()
        assert not ground.region.errands
        assert "given up after 11 minutes" in ground.region.machines["web"].alarm
        assert "no memory left" in ground.region.machines["web"].alarm
        assert ground.region.vms["web"].power is Power.STOPPED

    live(story, hosts=("alpha",))
