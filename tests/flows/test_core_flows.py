"""Four of the seven paths through the house, each walked once from the plane's door to the disk and back: a restart, an
approval, a tick, an impact."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.looking.documents import document_for
from forewarn.core.region import Power, Region
from forewarn.core.specs import VmSpec
from forewarn.plane.clock import TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin, Record
from forewarn.server.assembly import Parts, running
from forewarn.stores.sqlite.journal import SqliteJournal
from forewarn.terms import Document

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPERATOR, GUEST = Origin("operator", "alice", "request-1"), Origin("vm", "web", "request-2")


@pytest.fixture
def anyio_backend() -> str:
    """The plane lives on asyncio."""
    return "asyncio"


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[tuple[Plane, list[str]]]:
    """A region on disk with one VM that reads, and what is published from now on."""
    async with running(Parts(journal=SqliteJournal(directory), clock_from=lambda _: TurnableClock(NOON))) as server:
        plane = server.plane
        await plane.submit(c.CreateVms(("web",), VmSpec(), "seed-0"), OPERATOR)
        await plane.enable(plane.region.vms["web"])
        published: list[str] = []

        def listen(_: Region, records: Sequence[Record]) -> None:
            published.extend(type(record.fact).__name__ for record in records)

        plane.subscribe(listen)
        yield plane, published


def document(plane: Plane) -> Document:
    return document_for(plane.region, plane.region.scope_of(plane.region.vms["web"]))


async def restart(plane: Plane) -> str:
    (scheduled,) = await plane.submit(c.RestartVms(("web",), "seed-1"), OPERATOR)
    assert isinstance(scheduled, f.EventScheduled)
    return scheduled.event.id


def told(directory: Path, event_id: str) -> list[tuple[str, str, str]]:
    """The story of an event as a later process finds it on the disk."""
    journal = SqliteJournal(directory)
    try:
        records = journal.about(event_id, 100)
        return [(type(each.fact).__name__, each.command, each.origin.door) for each in records]
    finally:
        journal.close()


async def test_an_operators_restart_goes_from_command_to_disk_to_document(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as (plane, published):
        event_id = await restart(plane)
        assert published == ["EventScheduled"]
        (shown,) = document(plane).events
        assert (shown.event_id, shown.status, shown.not_before) == (event_id, "Scheduled", NOON + timedelta(minutes=15))
        assert document(plane).incarnation == 2
        assert [record.origin for record in plane.journal.about(event_id, 10)] == [OPERATOR]
    assert told(tmp_path / "data", event_id) == [("EventScheduled", "RestartVms", "operator")]


async def test_an_approval_goes_from_a_guest_to_a_started_event(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as (plane, published):
        event_id = await restart(plane)
        facts = await plane.submit(c.Approve((event_id,), "web", "vm/web"), GUEST)
        assert [type(fact).__name__ for fact in facts] == ["EventApproved", "EventStarted"]
        assert published[:3] == ["EventScheduled", "EventApproved", "EventStarted"]
        (shown,) = document(plane).events
        assert (shown.status, shown.not_before) == ("Started", None)
    assert told(tmp_path / "data", event_id)[1:3] == [
        ("EventApproved", "Approve", "vm"),
        ("EventStarted", "Approve", "vm"),
    ]


async def test_a_tick_goes_from_the_clock_to_a_started_event(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as (plane, _):
        event_id = await restart(plane)
        assert await plane.advance_to_next() == NOON + timedelta(minutes=15)
        assert document(plane).events[0].status == "Started"
    assert told(tmp_path / "data", event_id)[1] == ("EventStarted", "Tick", "clock")


async def test_an_impact_goes_from_a_started_event_through_the_engine_to_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as (plane, _):
        event_id = await restart(plane)
        await plane.submit(c.Approve((event_id,), "web", "vm/web"), GUEST)
        await plane.advance(NOON + timedelta(seconds=1))
        assert plane.region.vms["web"].power is Power.RESTARTING
        await plane.advance(NOON + timedelta(seconds=30))
        assert (plane.region.vms["web"].power, plane.region.vms["web"].boots) == (Power.RUNNING, 2)
        await plane.advance(NOON + timedelta(seconds=60))
        assert document(plane) == Document(incarnation=4)
    assert told(tmp_path / "data", event_id)[3:] == [
        ("ImpactBegan", "BeginImpact", "driver"),
        ("ImpactEnded", "Tick", "clock"),
        ("EventCompleted", "Tick", "clock"),
    ]
