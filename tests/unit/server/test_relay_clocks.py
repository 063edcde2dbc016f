"""A relay beside an upstream whose clock, or whose machine, stood still: what it knows is never taken for newer than it
is, nor for older until the hour of its stream is over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from forewarn.plane.ports import JournalFault
from forewarn.plane.system import ServerSystem
from forewarn.server.relaying.ground import RelayStanding
from forewarn.server.relaying.life import Relay, RelayOrder
from forewarn.server.relaying.line import Upstream, UpstreamFault
from forewarn.web.slices.bulletins import Bulletin, RelayManners, encode

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STALENESS = 10.0
HERE, THERE = 1000.0, 5000.0  # the two clocks when the stream begins; the seconds of each are told from there


@dataclass
class Hand:
    """The clock of the relay's machine."""

    at: float = HERE


@dataclass(frozen=True)
class Scripted(Upstream):
    """Says one bulletin after the other, each when it is so late at the relay and so late at the upstream."""

    hand: Hand = field(default_factory=Hand)
    script: Sequence[tuple[float, float, float]] = ()  # seconds here, seconds there, seconds of the store's silence

    @asynccontextmanager
    async def open(self, path: str, body: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        async def said() -> AsyncIterator[bytes]:
            for number, (here, there, silence) in enumerate(((0.0, 0.0, 0.0), *self.script)):
                self.hand.at = HERE + here
                manners = RelayManners(staleness=timedelta(seconds=STALENESS)) if not number else None
                values = (number, "", THERE + there, NOON + timedelta(seconds=there), None, silence)
                yield encode(Bulletin(*values, whole=not number, manners=manners))

        yield said()


async def follow(*script: tuple[float, float, float]) -> tuple[Relay, Hand, str]:
    """A relay that has followed this to its end, its clock, and why it left before, if it did."""
    hand = Hand()
    upstream = Scripted("http://127.0.0.1:1", hand=hand, script=script)
    relay = Relay(RelayOrder((upstream,)), ServerSystem(elapsed=lambda: hand.at))
    try:
        await relay._follow(upstream)
    except UpstreamFault as fault:
        return relay, hand, str(fault) if fault.asked else "it was not asked"
    return relay, hand, ""


async def test_a_stream_in_order_is_followed_to_its_end() -> None:
    relay, hand, why = await follow(*((at, at - 0.01, 0.0) for at in (2.5, 5.0, 7.5, 10.0)))
    assert why == ""
    assert relay.ground.known_seq == 4
    assert relay.ground.standing.current_until - hand.at == pytest.approx(STALENESS - 0.01)


async def test_clocks_that_drift_apart_as_quartzes_do_are_no_reason_to_leave() -> None:
    for drift in (-0.36, 0.36):  # 100 parts in a million, in an hour
        relay, hand, why = await follow(*((at, at * (1 + drift / 3600), 0.0) for at in (1200.0, 2400.0, 3600.0)))
        assert why == ""
        assert STALENESS - 0.37 < relay.ground.standing.current_until - hand.at <= STALENESS


async def test_a_relay_whose_machine_stood_still_does_not_take_what_comes_for_newer_than_it_is() -> None:
    relay, _, why = await follow((2.5, 2.5, 0.0), (3.0, 303.0, 0.0), (5.5, 305.5, 0.0))
    assert "clock" in why
    assert relay.ground.standing.stale  # until it knows anew how the clocks stand
    assert relay.ground.known_seq == 1  # how old the next one is, nobody knows


async def test_what_is_known_is_good_for_staleness_from_now_at_the_most() -> None:
    hand = Hand()
    standing = RelayStanding(lambda: hand.at)
    standing.begin(HERE, THERE, STALENESS)
    for ahead in (0.0, 0.3, 300.0):
        hand.at += 1
        standing.heard(THERE + hand.at - HERE + ahead)
        assert standing.current_until - hand.at <= STALENESS


async def test_a_relay_whose_upstream_stood_still_asks_it_anew() -> None:
    relay, hand, why = await follow((2.5, 2.5, 0.0), (10.5, 5.0, 0.0), (18.5, 7.5, 0.0), (21.0, 10.0, 0.0))
    assert "old" in why
    assert hand.at == HERE + 18.5  # when it knew enough: 503 for half an hour is not what follows
    assert relay.ground.known_seq == 3


async def test_an_upstream_that_stood_still_for_less_is_asked_anew_before_anybody_is_turned_away() -> None:
    relay, hand, why = await follow((2.5, 2.5, 0.0), (11.0, 5.0, 0.0), (13.5, 7.5, 0.0), (16.0, 10.0, 0.0))
    assert "old" in why
    assert hand.at == HERE + 13.5
    assert relay.ground.standing.current_until > hand.at


async def test_a_relay_that_was_busy_reads_what_has_come_meanwhile_and_stays() -> None:
    late = [(8.6, at, 0.0) for at in (2.5, 5.0, 7.5)]  # the first is older than half of staleness, the last is not
    _, _, why = await follow((0.1, 0.1, 0.0), *late, (10.0, 10.0, 0.0))
    assert why == ""


async def test_an_upstream_that_does_not_hear_its_store_is_not_left_for_that() -> None:
    relay, _, why = await follow(*((at, at, at) for at in (2.5, 5.0, 7.5, 10.0, 12.5, 15.0)))
    assert why == ""
    assert relay.ground.standing.stale


async def test_the_next_upstream_is_asked_when_the_first_breaks_off_twice() -> None:
    hand, asked = Hand(), []

    class Line(Scripted):
        @asynccontextmanager
        async def open(self, path: str, body: Any) -> AsyncIterator[AsyncIterator[bytes]]:
            asked.append(self.url[-1])
            async with super().open(path, body) as said:
                yield said

    late = [(2.5, 2.5, 0.0), (11.0, 5.0, 0.0), (13.5, 7.5, 0.0)]
    bad, good = Line("http://127.0.0.1:1", hand=hand, script=late), Line("http://127.0.0.1:2", hand=hand)
    relay = Relay(RelayOrder((bad, good)), ServerSystem(elapsed=lambda: hand.at))
    with pytest.raises(JournalFault, match="old"):
        await relay._follow_one_of_all()
    assert asked == ["1"]
    await relay._follow_one_of_all()
    assert asked == ["1", "1", "2"]
