"""When register and census are made, kept up and let go of; what they say is the model test's business."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import count

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from forewarn.plane.read_models.keeping import ReadModels
from tests.model.read_model_watch import Publishing
from tests.unit.plane.bench import opened

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made(region: Region, *names: str) -> tuple[Region, tuple[f.Fact, ...]]:
    return step(region, c.CreateVms(names, VmSpec(), f"seed-{names[0]}"), NOON, Rules())


def slow(publishing: Publishing) -> ReadModels:
    """Each step takes a portion of its own."""
    ticks = count()
    return ReadModels(publishing, lambda: float(next(ticks)))


async def test_before_the_first_request_nothing_is_subscribed() -> None:
    publishing = Publishing()
    models = ReadModels(publishing, lambda: 0.0)
    publishing.publish(*made(Region(), "web"))
    assert publishing.listeners == []
    found = await models.at_hand()
    assert found is not None
    assert (found.seq, list(found.register.vms)) == (publishing.seq, ["web"])
    assert len(publishing.listeners) == 1
    await models.close()
    assert publishing.listeners == []


async def test_a_caller_that_does_not_wait_is_told_how_far_the_model_is() -> None:
    publishing = Publishing()
    publishing.publish(*made(Region(), *(f"vm-{number}" for number in range(3_000))))
    models = slow(publishing)
    assert models.share == 0
    assert await models.at_hand(patience_seconds=0) is None
    for _ in range(5):
        await asyncio.sleep(0)
    assert 0 < models.share < 1
    found = await models.at_hand()
    assert found is not None
    assert (models.share, len(found.register.vms)) == (1, 3_000)
    await models.close()


async def test_a_caller_that_gives_up_does_not_cancel_the_others() -> None:
    publishing = Publishing()
    publishing.publish(*made(Region(), "web"))
    models = slow(publishing)
    first, second = asyncio.create_task(models.at_hand()), asyncio.create_task(models.at_hand())
    await asyncio.sleep(0)
    first.cancel()
    assert await second is not None
    await models.close()


async def test_records_that_are_not_the_next_ones_begin_everything_anew() -> None:
    publishing = Publishing()
    publishing.publish(*made(Region(), "old"))
    models = slow(publishing)
    await models.at_hand()
    asked = asyncio.create_task(models.at_hand())
    replaced, facts = made(Region(), "new")
    publishing.seq += 40  # a region that another history led to
    publishing.publish(replaced, facts)
    found = await models.at_hand()
    assert found is not None
    assert (found.seq, list(found.register.vms)) == (publishing.seq, ["new"])
    await asked
    await models.close()


async def test_a_model_that_is_replaced_while_it_is_made_is_made_anew_and_all_callers_get_it() -> None:
    publishing = Publishing()
    publishing.publish(*made(Region(), "old"))
    models = slow(publishing)
    asked = asyncio.create_task(models.at_hand())
    for _ in range(3):
        await asyncio.sleep(0)
    publishing.seq += 40
    publishing.publish(*made(Region(), "new"))
    found = await asked
    assert found is not None
    assert list(found.register.vms) == ["new"]
    await models.close()


VERY_MANY = 21_000  # facts without a request, after which is decided whether the models are worth their keep


def kept_up_to(models: ReadModels) -> int | None:
    return None if models.latest is None else models.latest.seq


async def turns() -> None:
    """More than the work on the models can take."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_large_models_are_kept_up_once_for_somebody_who_has_asked_and_then_dropped() -> None:
    publishing = Publishing()
    region, facts = made(Region(), *(f"vm-{number}" for number in range(VERY_MANY + 1)))
    publishing.publish(region, facts)
    models = ReadModels(publishing, lambda: 0.0)
    await models.at_hand()
    noise = [f.ClockMoved(NOON)] * VERY_MANY

    publishing.publish(region, noise)
    await turns()

    assert kept_up_to(models) == publishing.seq

    publishing.publish(region, noise)
    await turns()

    assert (kept_up_to(models), len(publishing.listeners)) == (None, 0)
    found = await models.at_hand()
    assert found is not None
    assert found.seq == publishing.seq
    await models.close()


async def test_models_of_fewer_things_than_there_were_facts_are_dropped_and_made_anew_when_somebody_asks() -> None:
    publishing = Publishing()
    region, facts = made(Region(), "web")
    publishing.publish(region, facts)
    models = ReadModels(publishing, lambda: 0.0)
    await models.at_hand()

    publishing.publish(region, [f.ClockMoved(NOON)] * VERY_MANY)

    assert (kept_up_to(models), len(publishing.listeners)) == (None, 0)
    publishing.publish(*made(region, "db"))
    found = await models.at_hand()
    assert found is not None
    assert (found.seq, list(found.register.vms)) == (publishing.seq, ["db", "web"])
    await models.close()


async def test_a_plane_keeps_its_read_models_up_to_date_and_leaves_no_work_behind_when_it_closes() -> None:
    async with opened() as bench:
        await bench.create("web-0", "web-1")
        asked = asyncio.create_task(bench.plane.read_models.at_hand())
        await bench.create("web-2")
        await asked
        found = await bench.plane.read_models.at_hand()
        assert found is not None
        assert list(found.register.vms) == ["web-0", "web-1", "web-2"]
        assert (found.seq, found.region.vms) == (bench.plane.seq, bench.plane.region.vms)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
