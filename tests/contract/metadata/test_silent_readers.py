"""Readers that say nothing, that never came to say anything, or that cannot be begun: noticed, and nothing piles up."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from forewarn.core.commands import CreateVms
from forewarn.core.specs import VmSpec
from forewarn.server.readers import crew, life, seats
from forewarn.server.readers.channel import ReaderChannel
from forewarn.settings.errors import CommandFailed
from tests.contract.metadata.readers_bench import LoopReader, ReadersBench
from tests.e2e.metadata_region import get, region_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="readers share memory as Linux has it")
SILENT_SECONDS = 2.0
STALENESS = timedelta(seconds=SILENT_SECONDS)
_PIDS = count(1_000_000)


class MuteReader:
    """A process that was frozen as soon as it was begun: it holds its end of the channel and does nothing."""

    def __init__(self, end: socket.socket) -> None:
        self.pid = next(_PIDS)
        self._end = socket.socket(fileno=os.dup(end.fileno()))
        self._over: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def kill(self) -> None:
        if not self._over.done():
            self._end.close()
            self._over.set_result(-9)

    async def wait(self) -> int:
        return await asyncio.shield(self._over)


class SeatsBench(ReadersBench):
    """``next_ones`` says what the next readers are: well, mute, or not to be had."""

    next_ones = "well"

    async def _launch(self, end: socket.socket, descriptors: Sequence[int]) -> Any:
        if self.next_ones == "not to be had":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        if self.next_ones == "mute":
            return MuteReader(end)
        return await super()._launch(end, descriptors)


class MuteFromTheStart(SeatsBench):
    next_ones = "mute"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers report often, and may be silent for two seconds."""
    monkeypatch.setattr(crew, "_SILENT_SECONDS", SILENT_SECONDS)
    monkeypatch.setattr(life, "_REPORT_SECONDS", 0.1)


def test_a_reader_that_freezes_before_its_first_report_is_killed_and_followed_by_another() -> None:
    with region_of(SeatsBench, staleness=STALENESS, expected_errors=1) as bench:
        bench.create("web")
        seat = bench.readers.seats[0]
        pid = bench.do(lambda: seat.pid)
        bench.next_ones = "mute"
        bench.do(seat.kill)
        bench.until(lambda: bench.do(lambda: seat.pid) not in (0, pid), "a mute one")
        bench.next_ones = "well"
        bench.until(lambda: bench.do(lambda: bench.readers.answering) == bench.count, "one that answers")
        assert bench.do(lambda: bench.readers.ended) == 2  # the one that was killed here, and the mute one
        assert bench.at_reader(0).ask(get("web")).status == 200


def test_a_server_whose_reader_freezes_at_its_start_says_so_and_does_not_wait_for_ever() -> None:
    with (
        pytest.raises(CommandFailed, match="a reader did not start"),
        region_of(MuteFromTheStart, staleness=STALENESS, expected_errors=1),
    ):
        pass


def test_what_a_reader_that_begins_does_not_take_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1024 * 1024
    monkeypatch.setattr(seats, "_MOST_UNREAD", most)
    monkeypatch.setattr(crew, "_SILENT_SECONDS", 1000.0)  # it is not for its silence that it is killed
    with region_of(SeatsBench, expected_errors=1) as bench:
        seat = bench.readers.seats[0]
        pid = bench.do(lambda: seat.pid)
        never = bench.do(asyncio.Event)
        with monkeypatch.context() as patch:
            patch.setattr(ReaderChannel, "drained", lambda _self: never.wait())
            bench.do(seat.kill)
            bench.until(lambda: bench.do(lambda: seat.pid not in (0, pid) and seat._channel is not None), "another one")
            pid = bench.do(lambda: seat.pid)
            kept = []
            for number in range(20):
                names = tuple(f"web-{number}-{each}" for each in range(1000))
                bench.submit(CreateVms(names, VmSpec(), str(number)))
                kept.append(bench.do(lambda: _kept(seat)))
                if bench.do(lambda: seat.pid) != pid:
                    break
        assert kept[0] > most / 10  # it takes nothing, and so it is kept
        assert max(kept) < most + 2 * kept[0]
        bench.until(lambda: bench.do(lambda: bench.readers.answering) == bench.count, "one that answers")
        assert bench.do(lambda: bench.readers.ended) == 2


def test_nothing_is_kept_for_a_reader_that_cannot_be_begun() -> None:
    with region_of(SeatsBench) as bench:
        seat = bench.readers.seats[0]
        bench.next_ones = "not to be had"
        bench.do(seat.kill)
        bench.until(lambda: bench.do(lambda: bench.readers.ended) >= 2, "a beginning that failed")
        for name in ("web", "web-0", "web-1"):
            bench.create(name)
            assert bench.do(lambda: _kept(seat)) == 0
        bench.next_ones = "well"
        bench.until(lambda: bench.do(lambda: bench.readers.answering) == bench.count, "one that answers")
        assert bench.at_reader(0).ask(get("web-1")).status == 200


def test_a_server_that_stood_still_keeps_its_readers() -> None:
    with region_of(SeatsBench, staleness=STALENESS) as bench:
        bench.create("web")
        seats_ = bench.readers.seats
        pids = bench.do(lambda: [each.pid for each in seats_])
        bench.do(lambda: time.sleep(SILENT_SECONDS * 1.5))  # its loop, and with it all that it would hear
        woke = bench.do(bench.plane.system.elapsed)
        bench.until(lambda: bench.do(lambda: all(each.heard_at > woke for each in seats_)), "reports since")
        assert bench.do(lambda: ([each.pid for each in seats_], bench.readers.ended)) == (pids, 0)


def test_a_reader_that_is_frozen_is_killed_by_a_server_that_stands_still_again_and_again() -> None:
    with region_of(SeatsBench, staleness=STALENESS, expected_errors=1) as bench:
        seat = bench.readers.seats[0]
        reader = bench.begun[bench.do(lambda: seat.pid)]
        bench.do(lambda: _freeze(reader))

        def look() -> bool:
            bench.do(lambda: time.sleep(0.6))  # more than two beats
            return bench.do(lambda: bench.readers.ended) == 1

        bench.until(look, "the end of the frozen one")


def _freeze(found: LoopReader) -> None:
    """It says nothing any more."""
    vars(found.reader._channel)["send"] = lambda *_: None


def _kept(seat: seats.Seat) -> int:
    """Bytes that wait for whoever sits there next."""
    return sum(map(len, seat._later or ()))
