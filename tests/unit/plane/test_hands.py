"""Hands carry errands to an engine, each to its end and none twice, whatever the engine and the journal do."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, SeenWhy
from forewarn.core.region import HostHealth, Power
from forewarn.durable import FileLock
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinCall, TwinMisfortune, TwinMishap
from forewarn.plane.hands.engine import EngineFault, ErrandResult, Warrant
from forewarn.plane.hands.settings import MachineSettings
from tests.unit.plane.hands_bench import Ground, live

RUNNING, PAUSED, OFF = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF
CALL_SECONDS = 120.0  # what the hand allows a whole errand, at four calls of 30 s, without grace


async def restarted(ground: Ground, *names: str) -> None:
    await ground.do(c.RestartVms(names, "seed/restart"))
    await ground.until(lambda: not ground.region.errands)


def deeds(ground: Ground, ref: str = "") -> list[str]:
    return [deed.call.value for deed in ground.platform.deeds if ref in ("", deed.ref)]


def test_a_restart_is_tried_on_disk_done_seen_and_reported() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await restarted(ground, "web")
        assert deeds(ground) == ["restart"]
        assert (
            ground.told()[-7:]
            == [
                "EventBornStarted",
                "ErrandMade",
                "ErrandTried",
                "ImpactBegan",
                "MachineSeen",
                "ErrandEnded",
                "ImpactEnded",
            ]
            or "EventCompleted" in ground.told()
        )
        assert ground.region.vms["web"].boots == 2

    live(story)


@pytest.mark.parametrize("mishap", [TwinMishap.LOST, TwinMishap.HANGS_DONE, TwinMishap.SLOW])
def test_what_was_done_without_an_answer_is_not_done_again(mishap: TwinMishap) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.misfortunes.append(TwinMisfortune(mishap, TwinCall.RESTART))
        await restarted(ground, "web")
        assert deeds(ground) == ["restart"]

    live(story)


@pytest.mark.parametrize("mishap", [TwinMishap.HANGS, TwinMishap.FAILED, TwinMishap.FORGOTTEN])
def test_what_was_not_done_is_tried_again(mishap: TwinMishap) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.misfortunes += [TwinMisfortune(mishap, TwinCall.RESTART)] * 3
        await restarted(ground, "web")
        assert deeds(ground) == ["restart"]
        assert ground.machine("web").mark == ground.region.machines["web"].boot_mark

    live(story)


def test_a_refusal_stands_word_for_word_with_the_errand() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        said = "Cannot allocate memory"
        ground.platform.misfortunes.append(TwinMisfortune(TwinMishap.FAILED, TwinCall.RESTART, sentence=said))
        await ground.do(c.RestartVms(("web",), "seed/restart"))
        await ground.until(lambda: any(said in found.why for found in ground.region.errands.values()))
        await ground.until(lambda: not ground.region.errands)

    live(story)


def test_a_thread_that_does_not_come_back_is_left_and_gets_no_leave_afterwards() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        hung = TwinMisfortune(TwinMishap.SLOW, TwinCall.LOOK, seconds=10 * CALL_SECONDS)
        await ground.do(c.RestartVms(("web",), "seed/restart"))
        ground.platform.misfortunes.append(hung)  # the look before the restart
        await ground.until(lambda: ground.plane.hands.hung["alpha"] == 1)
        await ground.until(lambda: not ground.region.errands)
        assert deeds(ground) == ["restart"]
        await ground.until(lambda: ground.plane.hands.hung["alpha"] == 0)
        assert deeds(ground) == ["restart"]

    live(story)


def test_a_host_into_which_eight_calls_hang_counts_as_silent() -> None:
    async def story(ground: Ground) -> None:
        names = [f"web-{number}" for number in range(8)]
        await ground.adopt(*names)
        for_ever = TwinMisfortune(TwinMishap.HANGS, host="alpha", seconds=1e6)
        ground.platform.misfortunes += [for_ever] * 8
        await ground.do(c.RestartVms(tuple(names), "seed/restart"))
        await ground.until(lambda: _health(ground, "alpha") is HostHealth.SILENT)
        assert ground.plane.hands.hung == {"alpha": 8, "beta": 0}
        ground.platform.let_go()
        await ground.until(lambda: not ground.region.errands)
        assert sorted(deeds(ground)) == ["restart"] * 8

    live(story, settings=MachineSettings(fence_after=None))


class CountingEngine(TwinEngine):
    """Knows how many errands are being carried out at once."""

    now = most = 0

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        kind = type(self)
        kind.now += 1
        kind.most = max(kind.most, kind.now)
        try:
            return super().carry_out(errand, warrant)
        finally:
            kind.now -= 1


def test_no_more_errands_than_allowed_are_carried_out_at_one_host_at_a_time() -> None:
    async def story(ground: Ground) -> None:
        names = [f"web-{number}" for number in range(20)]
        await ground.adopt(*names)
        ground.platform.misfortunes += [TwinMisfortune(TwinMishap.SLOW, TwinCall.RESTART, seconds=5.0)] * 20
        await restarted(ground, *names)
        assert CountingEngine.most == 4

    CountingEngine.now = CountingEngine.most = 0
    live(story, engine=CountingEngine)


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


# Listings


def test_a_machine_that_crashed_is_started_again() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        ground.platform.end("web", SeenWhy.CRASH)
        await ground.until(lambda: ground.machine("web").power is RUNNING)
        await ground.until(lambda: not ground.region.errands)
        assert deeds(ground) == ["restart"]
        assert ground.region.vms["web"].power is Power.RUNNING

    live(story)


@pytest.mark.parametrize("mishap", [TwinMishap.LIES, TwinMishap.INCOMPLETE])
def test_a_listing_that_leaves_a_machine_out_once_changes_nothing(mishap: TwinMishap) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(30.0)
        told = ground.told()
        ground.platform.misfortunes.append(TwinMisfortune(mishap, TwinCall.LIST, "alpha"))
        await asyncio.sleep(60.0)
        assert not ground.platform.misfortunes
        assert ground.told() == told

    live(story)


@pytest.mark.parametrize("hints", ["given", "lost", "doubled", "late"])
def test_hints_that_are_lost_doubled_or_late_only_delay(hints: str) -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(5.0)
        ground.platform.hints = hints
        ground.platform.end("web", SeenWhy.GUEST)
        await asyncio.sleep(1.0 if hints in ("given", "doubled") else 10.5)
        assert ground.region.vms["web"].power is Power.STOPPED

    live(story)


def test_a_listing_that_says_what_is_known_is_not_written() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await asyncio.sleep(15.0)
        writes = ground.journal.writes
        await asyncio.sleep(600.0)
        assert ground.journal.writes == writes

    live(story)


# Hosts


def _health(ground: Ground, name: str) -> HostHealth:
    host = ground.region.real_host(name)
    assert host is not None
    return host.health


def test_a_host_that_falls_silent_and_comes_back_loses_nothing() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        before = ground.machine("web")
        ground.platform.fall_silent("alpha")
        await ground.until(lambda: _health(ground, "alpha") is HostHealth.SILENT)
        await ground.do(c.RestartVms(("web",), "seed/restart"))
        await asyncio.sleep(60.0)
        assert ground.machine("web") == before
        ground.platform.answer("alpha")
        await ground.until(lambda: not ground.region.errands)
        assert _health(ground, "alpha") is HostHealth.HEALTHY
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
        await ground.until(lambda: _health(ground, "alpha") is not HostHealth.FENCED)
        assert [each.host for each in ground.platform.copies("web") if each.power is RUNNING] == ["beta"]

    live(story)


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
