"""Hosts under the hands of a plane: silent, fenced, come back, and touched by one hand only."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.core import commands as c
from forewarn.core.region import HostHealth
from forewarn.durable import FileLock
from forewarn.engines.twin.hosts import TwinCall, TwinMisfortune, TwinMishap
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineSettings
from forewarn.plane.hands.sites import HUNG_MOST
from tests.unit.plane.hands_bench import OFF, RUNNING, Ground, deeds, health_of, live


def test_a_host_that_falls_silent_and_comes_back_loses_nothing() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        before = ground.machine("web")
        ground.platform.fall_silent("alpha")
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.SILENT)
        await ground.do(c.RestartVms(("web",), "seed/restart"))
        await asyncio.sleep(60.0)
        assert ground.machine("web") == before
        ground.platform.answer("alpha")
        await ground.until(lambda: not ground.region.errands)
        assert health_of(ground, "alpha") is HostHealth.HEALTHY
        assert deeds(ground) == ["restart"]
        assert ground.fenced == []

    live(story, settings=MachineSettings(fence_after=None))


def test_a_host_that_stays_silent_is_fenced_and_only_then_its_machines_run_elsewhere() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.fall_silent("alpha")
        await ground.until(lambda: ground.fenced == ["alpha"])
        assert ground.deeds_before == []
        await ground.until(lambda: not ground.region.errands)
        assert [(each.host, each.power) for each in ground.platform.copies("web")] == [
            ("alpha", OFF),
            ("beta", RUNNING),
        ]
        assert ground.region.machines["web"].host == "beta"

    live(story)


def test_a_fence_that_fails_starts_nothing_anywhere() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.fence_works = False
        ground.platform.fall_silent("alpha")
        await ground.until(lambda: any("plug status" in each.why for each in ground.region.errands.values()))
        await asyncio.sleep(3600.0)
        assert not ground.platform.deeds
        assert ground.machine("web").power is RUNNING

    live(story)


def test_a_fenced_host_that_comes_back_with_its_machines_has_them_turned_off() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.fall_silent("alpha")
        await ground.until(lambda: ground.fenced == ["alpha"])
        await ground.until(lambda: not ground.region.errands)
        ground.platform.boot("web", "alpha")  # it starts its machines by itself
        ground.platform.answer("alpha")
        await ground.until(lambda: health_of(ground, "alpha") is not HostHealth.FENCED)
        assert [each.host for each in ground.platform.copies("web") if each.power is RUNNING] == ["beta"]

    live(story)


def test_what_is_tried_again_after_its_host_was_lost_is_asked_of_the_host_that_it_goes_to() -> None:
    """Between two tries the host was lost. Into that one calls hang: whoever still asked there would get no further."""
    at_once = timedelta(seconds=1)

    async def story(ground: Ground) -> None:
        others = [f"web-{number}" for number in range(HUNG_MOST)]
        await ground.adopt("web", *others)
        for_ever = TwinMisfortune(TwinMishap.HANGS, TwinCall.RESTART, seconds=1e6)
        not_now = TwinMisfortune(TwinMishap.FAILED, TwinCall.STOP)  # tried again after a minute in the end
        ground.platform.misfortunes += [for_ever] * HUNG_MOST + [not_now] * 100
        await ground.do(c.RedeployVms(("web",), "seed/redeploy"))
        await asyncio.sleep(300.0)
        await ground.do(c.RestartVms(tuple(others), "seed/restart"))
        await ground.until(lambda: ground.fenced == ["alpha"])
        await ground.until(lambda: ground.region.machines["web"].host == "beta")
        assert ground.plane.hands.hung["alpha"] == HUNG_MOST
        assert [each.host for each in ground.platform.copies("web") if each.power is RUNNING] == ["beta"]

    settings = MachineSettings(silent_after=at_once, fence_after=at_once, listing_every=at_once, parallel=HUNG_MOST + 1)
    live(story, settings=settings)


def test_two_hands_at_one_local_host_end_with_a_sentence(tmp_path: Path) -> None:
    async def story(ground: Ground) -> None:
        pytest.fail("it has started")

    held = FileLock(tmp_path / "alpha")
    with pytest.raises(EngineFault, match="Another forewarn works at host alpha"):
        live(story, lock=tmp_path)
    held.close()


@pytest.mark.parametrize(("node", "touched"), [("here", True), ("elsewhere", False)])
def test_a_host_of_a_node_is_touched_by_that_node_only(node: str, touched: bool) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await ground.do(c.RestartVms(("web",), "seed/restart"))
        await asyncio.sleep(timedelta(hours=1).total_seconds())
        assert bool(ground.platform.deeds) is touched

    live(story, node=node)
