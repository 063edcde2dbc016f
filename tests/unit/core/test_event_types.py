"""Each cause with its type, notice, words, impact and recovery: the table of the decisions, walked row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES, HOST_MAINTENANCE, Cause
from forewarn.core.region import Power
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.terms import EventSource, EventStatus, EventType
from tests.unit.core.world import DAY, MINUTE, NOON, SECOND, SPOT, World

_P, _U = EventSource.PLATFORM, EventSource.USER
_PLAIN = VmSpec()


@dataclass(frozen=True)
class Story:
    """What the documents promise for one cause."""

    cause: Cause
    type: EventType
    source: EventSource
    notice: timedelta
    description: str
    announced_seconds: int
    power: Power
    impact: timedelta
    recovery: timedelta
    boots: int
    disks: int
    moves: bool
    spec: VmSpec = _PLAIN

    def __str__(self) -> str:
        return self.cause.value


_ASKED = "as requested by authorized user."
STORIES = (
    Story(
        cause=Cause.FREEZE,
        type=EventType.FREEZE,
        source=_P,
        notice=15 * MINUTE,
        description="Host server is undergoing maintenance.",
        announced_seconds=9,
        power=Power.FROZEN,
        impact=9 * SECOND,
        recovery=10 * MINUTE,
        boots=1,
        disks=1,
        moves=False,
    ),
    Story(
        cause=Cause.LIVE_MIGRATION,
        type=EventType.FREEZE,
        source=_P,
        notice=15 * MINUTE,
        description="Virtual machine is being paused because of a memory-preserving Live Migration operation.",
        announced_seconds=5,
        power=Power.FROZEN,
        impact=5 * SECOND,
        recovery=5 * MINUTE,
        boots=1,
        disks=1,
        moves=True,
    ),
    Story(
        cause=Cause.NETWORK,
        type=EventType.FREEZE,
        source=_P,
        notice=15 * MINUTE,
        description="Host Server infrastructure is undergoing maintenance.",
        announced_seconds=0,
        power=Power.RUNNING,
        impact=0 * SECOND,
        recovery=10 * MINUTE,
        boots=1,
        disks=1,
        moves=False,
    ),
    Story(
        cause=Cause.REBOOT,
        type=EventType.REBOOT,
        source=_P,
        notice=15 * MINUTE,
        description="Host server is undergoing maintenance.",
        announced_seconds=-1,
        power=Power.RESTARTING,
        impact=30 * SECOND,
        recovery=10 * MINUTE,
        boots=2,
        disks=1,
        moves=False,
    ),
    Story(
        cause=Cause.REDEPLOY,
        type=EventType.REDEPLOY,
        source=_P,
        notice=10 * MINUTE,
        description="Host server is undergoing maintenance.",
        announced_seconds=-1,
        power=Power.REDEPLOYING,
        impact=60 * SECOND,
        recovery=10 * MINUTE,
        boots=2,
        disks=2,
        moves=True,
    ),
    Story(
        cause=Cause.PREDICTED_FAILURE,
        type=EventType.REDEPLOY,
        source=_P,
        notice=7 * DAY,
        description="Host server is undergoing an emergency repair.",
        announced_seconds=-1,
        power=Power.REDEPLOYING,
        impact=60 * SECOND,
        recovery=10 * MINUTE,
        boots=2,
        disks=2,
        moves=True,
    ),
    Story(
        cause=Cause.USER_RESTART,
        type=EventType.REBOOT,
        source=_U,
        notice=15 * MINUTE,
        description=f"Virtual machine is going to be restarted {_ASKED}",
        announced_seconds=-1,
        power=Power.RESTARTING,
        impact=30 * SECOND,
        recovery=30 * SECOND,
        boots=2,
        disks=1,
        moves=False,
    ),
    Story(
        cause=Cause.USER_REDEPLOY,
        type=EventType.REDEPLOY,
        source=_U,
        notice=10 * MINUTE,
        description=f"Virtual machine is going to be redeployed {_ASKED}",
        announced_seconds=-1,
        power=Power.REDEPLOYING,
        impact=60 * SECOND,
        recovery=30 * SECOND,
        boots=2,
        disks=2,
        moves=True,
    ),
    Story(
        cause=Cause.REIMAGE,
        type=EventType.REBOOT,
        source=_U,
        notice=15 * MINUTE,
        description=f"Virtual machine is going to be reimaged {_ASKED}",
        announced_seconds=-1,
        power=Power.REIMAGING,
        impact=60 * SECOND,
        recovery=30 * SECOND,
        boots=2,
        disks=1,
        moves=False,
        spec=VmSpec(os_image_notice=15 * MINUTE),
    ),
)

_ASK: dict[Cause, Callable[[World], list[str]]] = {
    Cause.USER_RESTART: lambda world: world.restart("web"),
    Cause.USER_REDEPLOY: lambda world: world.redeploy("web"),
    Cause.EVICTION: lambda world: world.evict("web"),
    Cause.DELETION: lambda world: world.delete("web"),
    Cause.FAILURE: lambda world: world.fail("host-0"),
    Cause.REIMAGE: lambda world: world.reimage("web"),
}


def ask(world: World, cause: Cause) -> str:
    """Cause it for the VM web on host-0."""
    if cause in HOST_MAINTENANCE:
        (event_id,) = world.maintain(cause, "host-0")
    else:
        (event_id,) = _ASK[cause](world)
    return event_id


each_story = pytest.mark.parametrize("story", STORIES, ids=str)


@each_story
def test_the_document_announces_the_event_with_at_least_the_notice_of_its_cause(story: Story, world: World) -> None:
    world.reading("web", spec=story.spec)
    event_id = ask(world, story.cause)
    seen = world.seen("web")
    assert (seen.event_id, seen.status, seen.resources) == (event_id, EventStatus.SCHEDULED, ("web",))
    assert (seen.type, seen.source, seen.description) == (story.type, story.source, story.description)
    assert seen.not_before == NOON + story.notice
    assert seen.duration_seconds == story.announced_seconds


@each_story
def test_an_event_that_is_not_approved_starts_at_not_before_and_not_a_second_earlier(
    story: Story, world: World
) -> None:
    world.reading("web", spec=story.spec)
    event_id = ask(world, story.cause)
    world.advance(story.notice - SECOND)
    assert world.event(event_id).started_at is None
    world.advance(SECOND)
    assert world.event(event_id).started_at == NOON + story.notice


@each_story
def test_an_approved_event_starts_has_its_impact_and_leaves_after_its_recovery(story: Story, world: World) -> None:
    world.reading("web", spec=story.spec)
    home = world.vm("web").host
    event_id = ask(world, story.cause)
    world.approve(event_id, by="web", scope="vm/web")
    assert (world.seen("web").status, world.seen("web").not_before) == (EventStatus.STARTED, None)
    assert world.vm("web").power is story.power
    assert world.vm("web").host == home
    world.advance(story.impact)
    vm = world.vm("web")
    assert (vm.power, vm.boots, vm.traits.ephemeral_disks) == (Power.RUNNING, story.boots, story.disks)
    assert (vm.host != home) is story.moves
    world.advance(story.recovery - SECOND)
    assert world.statuses("web") == ["Started"]
    world.advance(SECOND)
    assert world.document("web").events == ()
    assert world.document("web").incarnation == 4


@each_story
def test_in_a_scope_that_is_not_enabled_the_impact_happens_at_once_and_is_never_shown(
    story: Story, world: World
) -> None:
    world.create("web", spec=story.spec)
    event_id = ask(world, story.cause)
    (born,) = (fact for fact in world.facts if isinstance(fact, f.EventBornStarted))
    assert (born.event.id, born.event.announced, born.at) == (event_id, False, NOON)
    world.read("web")
    assert world.document("web").events == ()
    world.advance(story.impact)
    assert world.gone(event_id)  # nobody has to be given time to recover
    assert world.document("web").incarnation == 1
    assert world.vm("web").boots == story.boots


def test_an_eviction_gives_half_a_minute_and_no_words(world: World) -> None:
    world.reading("web", spec=SPOT)
    world.evict("web")
    seen = world.seen("web")
    assert (seen.type, seen.source, seen.description) == (EventType.PREEMPT, EventSource.PLATFORM, "")
    assert (seen.not_before, seen.duration_seconds) == (NOON + 30 * SECOND, -1)


@pytest.mark.parametrize("minutes", [5, 7, 15])
def test_a_termination_gives_the_notice_that_the_vm_was_made_with(minutes: int, world: World) -> None:
    world.reading("web", spec=VmSpec(terminate_notice=minutes * MINUTE))
    world.delete("web")
    seen = world.seen("web")
    assert (seen.type, seen.source, seen.description) == (EventType.TERMINATE, EventSource.USER, "")
    assert (seen.not_before, seen.duration_seconds) == (NOON + minutes * MINUTE, -1)


def test_every_cause_has_its_row() -> None:
    assert set(CAUSES) == set(Cause)
    elsewhere = {Cause.FAILURE, Cause.CRASH, Cause.EVICTION, Cause.DELETION}
    assert {story.cause for story in STORIES} == set(Cause) - elsewhere


def test_an_owner_may_choose_notice_recovery_and_announced_duration() -> None:
    world = World(
        Rules(notices={Cause.FREEZE: 2 * MINUTE}, recoveries={Cause.FREEZE: 3 * MINUTE}, durations={Cause.FREEZE: 20})
    )
    world.reading("web")
    (event_id,) = world.maintain(Cause.FREEZE)
    seen = world.seen("web")
    assert (seen.not_before, seen.duration_seconds) == (NOON + 2 * MINUTE, 20)
    world.approve(event_id)
    world.advance(20 * SECOND + 3 * MINUTE - SECOND)
    assert world.statuses("web") == ["Started"]
    world.advance(SECOND)
    assert world.statuses("web") == []


def test_an_event_keeps_the_numbers_it_was_born_with(world: World) -> None:
    world.reading("web")
    (event_id,) = world.maintain(Cause.FREEZE)
    world.rules = Rules(notices={Cause.FREEZE: MINUTE}, recoveries={Cause.FREEZE: MINUTE})
    world.advance(14 * MINUTE)
    assert world.seen("web").not_before == NOON + 15 * MINUTE
    world.advance(MINUTE + 9 * SECOND + 10 * MINUTE - SECOND)
    assert not world.gone(event_id)
