"""Hands carry errands to an engine, each to its end and none twice, whatever the engine and the journal do."""

from __future__ import annotations

import asyncio

import pytest

from forewarn.core import commands as c
from forewarn.core.machines.values import Errand, ErrandKind, SeenWhy
from forewarn.core.region import HostHealth, Power
from forewarn.core.specs import VmSpec
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinCall, TwinMisfortune, TwinMishap
from forewarn.plane.hands.engine import ErrandResult, NotYet, Warrant
from forewarn.plane.hands.settings import MachineSettings
from tests.unit.plane.hands_bench import CALL_SECONDS, RUNNING, Ground, deeds, health_of, live, restarted


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


def test_a_vm_that_could_not_be_made_leaves_nothing_behind_and_its_name_can_be_used_again() -> None:
    async def story(ground: Ground) -> None:
        no = TwinMisfortune(TwinMishap.REFUSED, TwinCall.START, sentence="exec: not found")
        ground.platform.misfortunes.append(no)
        made = VmSpec(engine="twin", blueprint="small")
        await ground.do(c.CreateVms(("job",), made, "seed/1"))
        await ground.until(lambda: "job" not in ground.region.vms)
        assert not ground.platform.machines
        await ground.do(c.CreateVms(("job",), made, "seed/2"))
        await ground.until(lambda: not ground.region.errands)
        assert [each.power for each in ground.platform.machines.values()] == [RUNNING]

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
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.SILENT)
        assert ground.plane.hands.hung == {"alpha": 8, "beta": 0}
        ground.platform.let_go()
        await ground.until(lambda: not ground.region.errands)
        assert sorted(deeds(ground)) == ["restart"] * 8

    live(story, settings=MachineSettings(fence_after=None))


class DeafEngine(TwinEngine):
    """Says of each restart that it is under way, and never that it is done."""

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        if errand.kind is ErrandKind.RESTART:
            return NotYet("the guest is shutting down", 0.5)
        return super().carry_out(errand, warrant)


def test_what_is_under_way_for_ever_is_given_up_when_its_patience_is_over_and_somebody_is_told() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        await restarted(ground, "web")
        assert "ErrandGivenUp" in ground.told()
        assert "the guest is shutting down" in ground.region.machines["web"].alarm
        assert not deeds(ground)

    live(story, engine=DeafEngine)


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
