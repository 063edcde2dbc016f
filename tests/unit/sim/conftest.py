"""A loop, strands, a network and disks with nothing in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from forewarn.sim.fabric.disk import Disks
from forewarn.sim.fabric.loop import SimLoop
from forewarn.sim.fabric.network import Network
from forewarn.sim.fabric.strands import Strands


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    loop = SimLoop()
    loop.strands = Strands(loop)
    loop.network = Network(loop, Random(1))
    yield loop
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.close()


@pytest.fixture
def disks(loop: SimLoop) -> Disks:
    return Disks(loop.strands, Random(1))
