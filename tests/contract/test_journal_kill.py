"""``kill -9`` at any instant: what was acknowledged is there, once; what is there is whole."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from forewarn.core.facts import Fact
from tests.contract import journal_appender
from tests.postgres import Server

ROUNDS = 10
SEED = 20260304


def _acknowledged_until_killed(place: str, first: int, acknowledgements: int) -> list[int]:
    """Let a process append, kill it after so many acknowledgements, and return all it managed to give."""
    program = [sys.executable, str(Path(journal_appender.__file__)), place, str(first)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        heard = [process.stdout.readline() for _ in range(acknowledgements)]
        process.kill()
        heard += process.stdout.readlines()
    return [int(line) for line in heard if line.endswith("\n")]


def _sqlite(request: pytest.FixtureRequest) -> str:
    directory: Path = request.getfixturevalue("tmp_path")
    return str(directory / "data")


def _postgres(request: pytest.FixtureRequest) -> str:
    server: Server = request.getfixturevalue("postgres")
    return server.region()


@pytest.mark.slow
@pytest.mark.parametrize("store", [_sqlite, _postgres])
def test_a_server_killed_at_any_moment_has_lost_nothing_it_acknowledged_and_doubled_nothing(
    request: pytest.FixtureRequest, store: Callable[[pytest.FixtureRequest], str]
) -> None:
    chance = random.Random(SEED)
    place = store(request)
    kept: list[Fact] = []
    blocks = 0
    for _ in range(ROUNDS):
        acknowledged = _acknowledged_until_killed(place, blocks, chance.randrange(60))
        assert acknowledged == list(range(blocks, blocks + len(acknowledged)))
        journal = journal_appender.opened(place)
        with journal.write():
            pass  # a database server may still be at the commit of the one that was killed
        found = [record.fact for record in journal.read(0, 1_000_000)]
        flaws = list(journal.verify())
        snapshot, seq = journal.load()
        journal.close()

        # Everything acknowledged, and at most the one block whose acknowledgement was cut off.
        wanted = [entry.fact for number in range(blocks, blocks + len(acknowledged)) for entry in _block(number)]
        unheard = [entry.fact for entry in _block(blocks + len(acknowledged))]
        assert found in (kept + wanted, kept + wanted + unheard)
        assert flaws == []
        assert seq <= len(found)
        assert (snapshot.lone_vms_made == 0) == (seq == 0)
        blocks += len(acknowledged) + (len(found) > len(kept + wanted))
        kept = found
    assert blocks > ROUNDS


_block = journal_appender.block
