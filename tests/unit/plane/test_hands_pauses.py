"""Pauses and migrations: each lasts as long as announced and ends, whatever engine, journal and people do."""

from __future__ import annotations

import asyncio

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines.values import ErrandKind
from forewarn.core.refusal import Refused
from forewarn.engines.twin.hosts import TwinCall, TwinMisfortune, TwinMishap
from forewarn.plane.hands.settings import MachineSettings
from forewarn.plane.hands.sites import HUNG_MOST
from tests.unit.plane.hands_bench import PAUSED, RUNNING, Ground, deeds, live

# Pauses


async def frozen(ground: Ground, *names: str) -> None:
    await ground.adopt(*names)
    await ground.do(c.MaintainHosts(("alpha",), Cause.FREEZE, "seed/freeze"))
    await ground.until(lambda: all(ground.machine(name).power is PAUSED for name in names))


def test_a_pause_lasts_as_long_as_announced_and_ends() -> None:
    async def story(ground: Ground) -> None:
        await frozen(ground, "web")
        (found,) = ground.region.errands.values()
        assert found.errand.until is not None
        until = found.errand.until
        await ground.until(lambda: ground.machine("web").power is RUNNING)
        assert ground.plane.now() >= until
        await ground.until(lambda: not ground.region.errands)
        assert deeds(ground) == ["pause", "resume"]
        assert ground.region.vms["web"].boots == 1

    live(story)


def test_a_pause_ends_also_when_the_journal_cannot_be_written() -> None:
    async def story(ground: Ground) -> None:
        await frozen(ground, "web")
        ground.journal.failures = 1_000_000
        await ground.until(lambda: ground.machine("web").power is RUNNING)
        ground.journal.failures = 0
        await ground.until(lambda: not ground.region.errands)
        assert deeds(ground) == ["pause", "resume"]

    live(story)


def test_a_pause_does_not_wait_for_other_errands() -> None:
    async def story(ground: Ground) -> None:
        others = [f"web-{number}" for number in range(6)]
        await frozen(ground, "web")
        await ground.adopt(*others)
        slow = TwinMisfortune(TwinMishap.SLOW, TwinCall.RESTART, seconds=100.0)
        ground.platform.misfortunes += [slow] * 6
        await ground.do(c.RestartVms(tuple(others), "seed/restart"))
        await ground.until(lambda: ground.machine("web").power is RUNNING)
        assert "restart" not in deeds(ground)

    live(story)


def test_a_pause_ends_with_the_process_and_not_before_its_time_in_the_region() -> None:
    async def story(ground: Ground) -> None:
        await frozen(ground, "web")

    left = live(story)
    assert left.machine("web").power is RUNNING
    assert [found.errand.kind for found in left.region.errands.values()] == [ErrandKind.PAUSE]


def test_a_machine_that_is_paused_by_somebody_else_goes_on_within_a_minute_or_so() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.machines["alpha", "web"].power = PAUSED
        await ground.until(lambda: ground.machine("web").power is RUNNING)
        await ground.until(lambda: not ground.region.errands)
        assert deeds(ground) == ["resume"]

    live(story)


def test_a_resume_that_is_answered_and_not_done_is_asked_for_again() -> None:
    async def story(ground: Ground) -> None:
        await frozen(ground, "web")
        ground.platform.misfortunes += [TwinMisfortune(TwinMishap.FORGOTTEN, TwinCall.RESUME)] * 9
        await ground.until(lambda: ground.machine("web").power is RUNNING)
        await ground.until(lambda: not ground.region.errands)

    live(story)


def test_a_pause_is_ended_at_a_host_where_nothing_else_is_asked_any_more_because_calls_hang() -> None:
    async def story(ground: Ground) -> None:
        others = [f"web-{number}" for number in range(HUNG_MOST)]
        await frozen(ground, "web")
        await ground.adopt(*others)
        for_ever = TwinMisfortune(TwinMishap.HANGS, TwinCall.RESTART, seconds=1e6)
        not_now = TwinMisfortune(TwinMishap.FAILED, TwinCall.RESUME)  # so that it is paused still when they hang
        ground.platform.misfortunes += [for_ever] * HUNG_MOST + [not_now] * 9
        await ground.do(c.RestartVms(tuple(others), "seed/restart"))
        await ground.until(lambda: ground.plane.hands.hung["alpha"] == HUNG_MOST)
        assert ground.machine("web").power is PAUSED
        await ground.until(lambda: ground.machine("web").power is RUNNING)
        assert ground.plane.hands.hung["alpha"] == HUNG_MOST
        assert "restart" not in deeds(ground)
        ground.platform.let_go()
        await ground.until(lambda: not ground.region.errands)

    live(story, settings=MachineSettings(fence_after=None, parallel=HUNG_MOST))


# Migrations


async def migrated(ground: Ground) -> None:
    await ground.do(c.MaintainHosts(("alpha",), Cause.LIVE_MIGRATION, "seed/migrate"))
    await ground.until(lambda: not ground.region.errands)


def test_a_migration_takes_its_time_and_ends_at_the_other_host() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.migration_seconds = 300.0
        await migrated(ground)
        assert ground.machine("web").host == ground.region.machines["web"].host == "beta"
        assert deeds(ground) == ["migrate"]
        assert ground.region.vms["web"].boots == 1

    live(story)


def test_a_migration_that_takes_too_long_is_aborted_and_the_machine_stays() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.migration_seconds = 3600.0
        await migrated(ground)
        assert deeds(ground) == ["migrate", "migrate"]  # begun and aborted
        await asyncio.sleep(4000.0)
        assert ground.machine("web").host == ground.region.machines["web"].host == "alpha"

    live(story)


def test_a_migration_of_a_machine_that_is_gone_is_given_up() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.migration_seconds = 60.0
        await ground.do(c.MaintainHosts(("alpha",), Cause.LIVE_MIGRATION, "seed/migrate"))
        await ground.until(lambda: deeds(ground) == ["migrate"])
        ground.platform.drop("web", "alpha")
        await ground.until(
            lambda: all(each.errand.kind is not ErrandKind.MIGRATE for each in ground.region.errands.values())
        )

    live(story)


def test_a_machine_is_not_let_go_in_the_middle_of_a_pause_which_nobody_would_end_then() -> None:
    async def story(ground: Ground) -> None:
        await frozen(ground, "web")
        with pytest.raises(Refused, match="release it when it goes on"):
            await ground.do(c.ReleaseMachine("web"))
        await ground.until(lambda: ground.machine("web").power is RUNNING and not ground.region.errands)
        await ground.do(c.ReleaseMachine("web"))
        await asyncio.sleep(600.0)
        assert ground.machine("web").power is RUNNING
        assert deeds(ground) == ["pause", "resume"]

    live(story)
