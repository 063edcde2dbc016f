"""A region tells people of what should not stay so: what, when, to whom, and that only the node that leads does."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.specs import VmSpec
from forewarn.guest.agent.values import Notification
from forewarn.guest.system import this_machine
from forewarn.plane.clock import Clock, TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Node
from forewarn.server.notifying.message import RegionMessage
from forewarn.server.notifying.notifier import Notifier
from forewarn.server.notifying.troubles import LAG_RECORDS, SILENT_AFTER, of_nodes
from forewarn.settings.notification_file import OCCASIONS
from tests.receiving import Room, serving
from tests.unit.plane.bench import HOUR, MINUTE, NOON, OPERATOR, SECOND, opened
from tests.unit.plane.nodes_bench import House, create, restart
from tests.waiting import until_in_loop

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving(Room("")) as opened:
        opened.gate.set()
        yield opened


def notifier(plane: Plane, url: str, on: tuple[str, ...] = (), unread_after: timedelta = 2 * HOUR) -> Notifier:
    target = Notification("webhook", url, on)
    return Notifier(
        plane, [target], this_machine(), region_name="west", unread_after=unread_after, pause=lambda _: False
    )


@asynccontextmanager
async def telling(
    room: Room, on: tuple[str, ...] = (), clock: Clock | None = None
) -> AsyncIterator[tuple[Plane, Notifier]]:
    """A region of one VM that reads, and its notifier, which looks when it is asked to."""
    async with opened(clock=clock) as bench:
        plane = bench.plane
        await plane.submit(c.CreateVms(("web",), VmSpec(), "seed"), OPERATOR)
        await plane.enable(plane.region.vms["web"])
        yield plane, notifier(plane, room.url, on)


async def told(of: Notifier, room: Room, looks: int = 2) -> list[dict[str, Any]]:
    """What was told by so many more looks, once all of it has gone out."""
    for _ in range(looks):
        await of.look()
    await of.close()
    return [{key: each[key] for key in ("occasion", "over", "about")} for each in room.told]


async def test_a_region_in_which_all_is_well_tells_nothing(room: Room) -> None:
    async with telling(room) as (plane, of):
        await restart(plane, "web")
        assert await told(of, room, 5) == []


async def test_a_scope_that_has_fallen_silent_is_told_once_and_so_is_its_end(room: Room) -> None:
    async with telling(room) as (plane, of):
        await plane.advance(plane.now() + 2 * HOUR - SECOND)
        for _ in range(3):
            await of.look()
        await plane.advance(plane.now() + SECOND)
        for _ in range(4):
            await of.look()
        plane.read_by("web")
        found = await told(of, room, 4)
    about = ["vm/web"]
    assert found == [
        {"occasion": "scope-silent", "over": False, "about": about},
        {"occasion": "scope-silent", "over": True, "about": about},
    ]


async def test_what_is_seen_by_one_look_only_is_not_told(room: Room) -> None:
    async with telling(room) as (plane, of):
        await plane.advance(plane.now() + 2 * HOUR)
        await of.look()
        plane.read_by("web")
        assert await told(of, room, 3) == []


async def test_a_missed_deadline_is_told_with_the_fact_and_once(room: Room) -> None:
    async with telling(room) as (plane, of):
        stop = plane.subscribe(of._published)
        event = await restart(plane, "web")
        await plane.advance(plane.now() + 16 * MINUTE)
        stop()
        found = await told(of, room, 3)
    assert found == [{"occasion": "deadline-missed", "over": False, "about": [f"Reboot {event} of web"]}]


async def test_an_event_that_was_approved_or_had_no_notice_missed_nothing(room: Room) -> None:
    async with telling(room) as (plane, of):
        stop = plane.subscribe(of._published)
        event = await restart(plane, "web")
        await plane.submit(c.Approve((event,), "web"), OPERATOR)
        await plane.submit(c.FailHosts(("host-0",), "failure"), OPERATOR)
        stop()
        assert await told(of, room, 3) == []


async def test_a_campaign_that_stands_still_is_told(room: Room) -> None:
    elapsed = [0.0]
    clock = TurnableClock(NOON, speed=1.0, elapsed=lambda: elapsed[0])
    async with telling(room, ("campaign-still",), clock) as (plane, of):
        await plane.submit(c.StartCampaign("campaign", Cause.REBOOT), OPERATOR)
        (campaign,) = plane.region.campaigns.values()
        elapsed[0] += HOUR.total_seconds()  # the plane sleeps until its next deadline in real time: nothing ticks
        found = await told(of, room)
    assert found == [{"occasion": "campaign-still", "over": False, "about": [f"reboot {campaign.id}"]}]


def node(name: str, seq: int, silence: timedelta = timedelta(0)) -> Node:
    return Node(name, name, "0", (), (), "", NOON, NOON - silence, seq, leads=False, draining=False)


def test_a_node_lags_that_is_far_behind_or_of_which_nothing_is_heard() -> None:
    this = node("this", 5000)
    others = [
        node("current", 5000),
        node("near", 5000 - LAG_RECORDS),
        node("far", 5000 - LAG_RECORDS - 1),
        node("quiet", 5000, SILENT_AFTER),
        node("gone", 5000, SILENT_AFTER + SECOND),
    ]
    found = [each.name for each in of_nodes([this, *others], this, NOON)]
    assert found == ["far (behind)", "gone (silent)"]


async def test_only_the_node_that_leads_tells_and_the_next_one_tells_what_still_stands(room: Room) -> None:
    house = House()
    with serving(Room("")) as second:
        second.gate.set()
        async with house.node() as one, house.node() as two:
            await create(one, "web")
            await one.enable(one.region.vms["web"])
            await two.refresh()
            tellers = [notifier(*each, unread_after=timedelta(0)) for each in ((one, room.url), (two, second.url))]
            for _ in range(3):
                for each in tellers:
                    await each.look()
            assert [one.standing.leads, two.standing.leads] == [True, False]
            assert tellers[1]._standing == {}
            one.membership.drain()  # it gives the lead up
            await until_in_loop(lambda: two.standing.leads and not one.standing.leads)
            assert len(await told(tellers[0], room, 3)) == 1
            assert len(await told(tellers[1], second, 3)) == 1
        assert [each["occasion"] for each in room.told + second.told] == ["scope-silent", "scope-silent"]


async def test_a_message_says_it_in_a_sentence_and_in_fields_and_names_at_most_twenty(room: Room) -> None:
    names = [f"vm/web-{number:02}" for number in range(23)]
    message = RegionMessage("west", "alpha", "scope-silent", names, NOON)
    assert message.title == "region west: 23 scopes have fallen silent"
    assert message.text.endswith("vm/web-18, vm/web-19 and 3 more")
    assert RegionMessage("", "alpha", "node-lags", ["b"], NOON).text == "the region: a node lags: b"
    assert RegionMessage("", "a", "node-lags", ["b"], NOON, over=True).title.endswith("is back, or is gone for good")
    async with telling(room) as (plane, of):
        await plane.advance(plane.now() + 3 * HOUR)
        at = plane.now()
        await told(of, room)
    assert room.told == [
        {
            "text": "region west: a scope has fallen silent: vm/web",
            "occasion": "scope-silent",
            "over": False,
            "region": "west",
            "node": plane.membership.node.name,
            "at": at.isoformat().replace("+00:00", "Z"),
            "count": 1,
            "about": ["vm/web"],
        }
    ]
    assert room.heard[0][0]["User-Agent"].startswith("forewarn/")


async def test_what_is_not_taken_is_tried_again_and_counted_and_the_log_keeps_the_secret(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "forewarn.notifications")
    room.answers = [500, 503, 200, 404]
    async with opened() as bench:
        of = notifier(bench.plane, f"{room.url}/hooks/sesame")
        for occasion in OCCASIONS[:2]:
            of._channels[0].put(RegionMessage("west", "a", occasion, ["x"], NOON))
        await of.close()
    assert len(room.heard) == 4
    assert of.told == {("webhook", "sent"): 1, ("webhook", "failed"): 1}
    assert "it answered 404" in caplog.text
    assert "sesame" not in caplog.text


async def test_nothing_that_is_told_is_written(room: Room) -> None:
    async with telling(room) as (plane, of):
        await plane.advance(plane.now() + 3 * HOUR)
        before = plane.seq
        assert len(await told(of, room)) == 1
        assert plane.seq == before
