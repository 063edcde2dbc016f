"""The machine's clock is wrong for a while: the region lives on, starts again, and loses nothing."""

from __future__ import annotations

import struct
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from forewarn.plane.clock import wall_time
from tests.e2e.program import ServerProgram, clean_environment
from tests.loss.watched_disk import library

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MINUTE = timedelta(minutes=1)


class TurnedClock:
    """The wall clock of the servers that are started with its environment."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.write_bytes(struct.pack("l", 0))

    def turn(self, by: timedelta) -> None:
        with self._file.open("r+b") as file:  # in place: it is mapped
            file.write(struct.pack("l", round(by.total_seconds())))

    @property
    def environment(self) -> dict[str, str]:
        return clean_environment(LD_PRELOAD=str(library("turned_clock")), TURNED_CLOCK=str(self._file))


@pytest.fixture
def clock(tmp_path: Path) -> TurnedClock:
    return TurnedClock(tmp_path / "turned")


def _now(server: ServerProgram) -> datetime:
    return datetime.fromisoformat(server.json("clock", "show")["now"])


@pytest.mark.parametrize("wrong", [400 * DAY, -HOUR], ids=str)
def test_a_region_that_was_written_with_a_wrong_clock_starts_again_when_it_is_right(
    tmp_path: Path, clock: TurnedClock, wrong: timedelta
) -> None:
    clock.turn(wrong)
    with ServerProgram.start(tmp_path / "data", env=clock.environment) as server:
        server.forewarn("vm", "create", "before")
    clock.turn(timedelta(0))
    with ServerProgram.start(tmp_path / "data", env=clock.environment) as server:
        server.forewarn("vm", "create", "after")
        first = _now(server)
        second = _now(server)
        listed = [vm["name"] for vm in server.json("vm", "list")]
        said = server.log.read_text()

    assert listed == ["after", "before"]
    assert first < second  # it does not stand still
    ahead = max(wrong, timedelta(0))
    assert abs(first - wall_time() - ahead) < 5 * MINUTE
    assert ("behind the region's time. That runs at nine tenths" in said) is (wrong > timedelta(0))
    assert "Traceback" not in said


@pytest.mark.parametrize("wrong", [HOUR, -400 * DAY], ids=str)
def test_a_clock_that_jumps_while_the_server_runs_and_comes_back_leaves_no_trace(
    tmp_path: Path, clock: TurnedClock, wrong: timedelta
) -> None:
    with ServerProgram.start(tmp_path / "data", env=clock.environment) as server:
        clock.turn(wrong)
        server.forewarn("vm", "create", "meanwhile")
        meanwhile = _now(server)
        clock.turn(timedelta(0))
        server.forewarn("vm", "create", "after")
        said = server.log.read_text()
    with ServerProgram.start(tmp_path / "data", env=clock.environment) as server:
        again = _now(server)

    assert abs(meanwhile - wall_time()) < 5 * MINUTE
    assert abs(again - wall_time()) < 5 * MINUTE
    expected = "has jumped ahead by" if wrong > timedelta(0) else "behind the region's time"
    assert expected in said
