"""Before a control face answers, its node knows what others have written, or may go on without for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.core.commands import CreateVms
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.engines.simulated import SimulatedEngine
from forewarn.plane.clock import RealClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Origin
from forewarn.plane.system import Pace
from forewarn.stores.shared_memory import MemoryNodeJournal, SharedMemory
from forewarn.web.current import be_current

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def nodes(anyio_backend: str) -> AsyncIterator[tuple[Plane, Plane]]:
    """Two of one region; the second hears by itself only when nobody tests any more."""
    store = SharedMemory(lambda: NOON, patience_seconds=0.2)
    pace = Pace(staleness=timedelta(hours=1), retry_seconds=0.01)
    one, two = (Plane.open(store.join(), RealClock, SimulatedEngine(), Rules(), pace=pace) for _ in range(2))
    await one.start()
    await two.start()
    yield one, two
    await two.close()
    await one.close()


async def test_what_another_node_has_written_is_known(nodes: tuple[Plane, Plane]) -> None:
    one, two = nodes
    await one.submit(CreateVms(("web",), VmSpec(), "seed"), Origin("operator"))
    await be_current(two)
    assert "web" in two.region.vms


async def test_while_the_store_is_silent_a_node_goes_on_with_what_it_knows(nodes: tuple[Plane, Plane]) -> None:
    one, two = nodes
    assert isinstance(two.journal, MemoryNodeJournal)
    two.journal.cut_off = "The cable is out."
    await one.submit(CreateVms(("web",), VmSpec(), "seed"), Origin("operator"))
    await be_current(two)
    assert "web" not in two.region.vms


async def test_a_node_that_may_not_be_current_says_why(
    nodes: tuple[Plane, Plane], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(nodes[1].standing), "stale", "This node has not heard from its store for 10 s.")
    with pytest.raises(JournalFault, match="has not heard from its store"):
        await be_current(nodes[1])
