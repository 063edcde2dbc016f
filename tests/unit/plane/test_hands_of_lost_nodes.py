"""A host that names its node, and a node that is gone with it: who leads calls the host silent, and fences it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec import structs

from forewarn.core import commands as c
from forewarn.core.region import HostHealth
from forewarn.plane.hands.hands import Hands
from forewarn.plane.hands.settings import MachineHost, Machines, MachineSettings
from forewarn.plane.ports import Node
from forewarn.plane.system import ServerSystem
from tests.unit.plane.bench import NOON
from tests.unit.plane.hands_bench import Ground, health_of, live

_NODE = Node("N-1", "there", "0", (), (), "", NOON, NOON, 0, leads=False, draining=False)


def hands_of(ground: Ground, present: list[Node]) -> Hands:
    """Those of the node ``here``, which leads; the hosts are another node's."""

    async def nodes() -> Sequence[Node]:
        return present

    def fence(name: str) -> None:
        ground.fenced.append(name)
        ground.platform.fence(name)

    hosts = tuple(MachineHost(name, ground.engine, "there", partial(fence, name)) for name in ground.platform.names)
    machines = Machines(hosts, MachineSettings(), "here")
    loop = asyncio.get_running_loop()
    system = ServerSystem(wall=ground.now, elapsed=loop.time, random_bytes=lambda count: bytes(count))
    return Hands(machines, ground.plane, ground.plane.standing, ground.now, system, nodes)


def test_a_host_whose_node_is_gone_is_called_silent_and_fenced_by_who_leads() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        present = [_NODE]
        hands = hands_of(ground, present)
        tasks = [asyncio.get_running_loop().create_task(work) for work in hands.start()]
        for _ in range(100):  # it announces itself every three seconds
            await asyncio.sleep(3.0)
            present[:] = [structs.replace(_NODE, seen_at=ground.now())]
        assert health_of(ground, "alpha") is HostHealth.HEALTHY
        assert not ground.platform.deeds
        present.clear()
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.SILENT)
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.FENCED)
        assert set(ground.fenced) == {"alpha", "beta"}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    live(story, node="there")


def test_a_node_that_is_only_listed_still_is_silent_from_its_last_word_on() -> None:
    """The store forgets a dead node after a minute; silence is counted from what it said last, not from then."""

    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        loop = asyncio.get_running_loop()
        hands = hands_of(ground, [_NODE])
        tasks = [loop.create_task(work) for work in hands.start()]
        began, settings = loop.time(), MachineSettings()
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.SILENT)
        silent = loop.time() - began
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.FENCED)
        fenced = loop.time() - began
        assert settings.fence_after is not None
        looks = 2 * settings.listing_every.total_seconds()  # the clock of this test stands still between them
        assert 0 <= silent - settings.silent_after.total_seconds() <= looks
        assert 0 <= fenced - settings.fence_after.total_seconds() <= looks
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    live(story, node="there")


def test_a_person_may_call_such_a_host_lost() -> None:
    async def story(ground: Ground) -> None:
        await ground.adopt("web")
        hands = hands_of(ground, [])
        tasks = [asyncio.get_running_loop().create_task(work) for work in hands.start()]
        await ground.until(lambda: health_of(ground, "alpha") is HostHealth.SILENT)
        await ground.do(c.ConfirmLost("alpha", "alice"))
        assert health_of(ground, "alpha") is HostHealth.FENCED
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    live(story, node="there")
