"""A thousand relays hear of something in the same moment; what else the node has to do comes in between."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest

from forewarn.web.operator.live.few_at_once import FewAtOnce
from forewarn.web.operator.live.relays import Newsroom, RelayedVms
from forewarn.web.operator.stream import Streams
from forewarn.web.slices.bulletins import Bulletin, RelayManners, decode
from tests.unit.plane.bench import opened

pytestmark = pytest.mark.anyio
_RELAYS = 300


async def _counted(turn: Counter[int], turns: FewAtOnce, number: list[int], *, first: bool = False) -> None:
    await turns.come(first=first)
    turn[number[0]] += 1


async def test_so_many_come_in_one_turn_of_the_loop_and_no_more() -> None:
    turns, counts, number = FewAtOnce(8), Counter[int](), [0]
    tasks = [asyncio.ensure_future(_counted(counts, turns, number)) for _ in range(100)]
    while not all(task.done() for task in tasks):
        number[0] += 1
        await asyncio.sleep(0)
    assert sum(counts.values()) == 100
    assert max(counts.values()) <= 16  # those whose turn it is, and those who were woken for it


async def test_who_has_news_waits_for_nobody_who_has_none() -> None:
    turns, order = FewAtOnce(1), list[str]()

    async def come(name: str, *, first: bool) -> None:
        await turns.come(first=first)
        order.append(name)

    await asyncio.gather(*(come(name, first=name == "news") for name in ("one", "two", "three", "news")))
    assert order == ["one", "news", "two", "three"]


async def test_the_turn_of_somebody_who_has_gone_is_another_ones() -> None:
    turns = FewAtOnce(1)
    came, gone, stays = (asyncio.ensure_future(turns.come()) for _ in range(3))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(came, stays)
    with suppress(asyncio.CancelledError):
        await gone
    assert gone.cancelled()


async def test_a_fact_costs_only_those_relays_something_whose_vms_it_concerns() -> None:
    async with opened() as bench:
        names = [f"vm-{number}" for number in range(_RELAYS)]
        await bench.create(*(name for name in names if name != "vm-7"))
        await bench.reading("alone", "vm-7")
        told, heard = Counter[str](), asyncio.Event()
        room, streams = Newsroom(bench.plane, RelayManners()), Streams()

        async def relay(name: str) -> None:
            async for line in room.follow(RelayedVms(frozenset({name})), streams, lambda: True):
                told[name] += 1
                assert isinstance(decode(line), Bulletin)
                if told.total() in (_RELAYS, _RELAYS + 1):
                    heard.set()

        tasks = [asyncio.ensure_future(relay(name)) for name in names]
        await heard.wait()
        heard.clear()
        assert len(told) == _RELAYS
        await bench.restart("alone")
        assert not any(stream.woken.is_set() for stream in room._streams)
        await bench.restart("vm-7")
        await heard.wait()
        assert {name for name, times in told.items() if times > 1} == {"vm-7"}
        streams.close()
        await asyncio.gather(*tasks)
