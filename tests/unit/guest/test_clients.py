"""Both clients against the real metadata face, on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from forewarn.core.commands import CancelEvents
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.guest import AsyncClient, Client, Closed, Fault, Refused, Unavailable
from forewarn.guest.watch import Appeared, Ended, Ending, Started
from forewarn.web.faults import FaultKind, FaultRule
from forewarn.web.metadata.settings import MetadataSettings
from tests.e2e.metadata_region import NOON, MetadataRegion, metadata_region
from tests.unit.guest.shells import Guest
from tests.waiting import until

MakeGuest = Callable[..., Guest]
HOUR = timedelta(hours=1)
NEVER_SECONDS = 1000.0  # longer than any test: who polls so rarely must have been told


def url(region: MetadataRegion, name: str = "web") -> str:
    return f"http://127.0.0.1:{region.face.port}/vm/{name}"


def strike(region: MetadataRegion, kind: FaultKind, times: int) -> None:
    region.do(lambda: region.faults.add(FaultRule(kind, times=times)))


def is_enabled(region: MetadataRegion, scope: str) -> bool:
    found = region.plane.region.scopes.get(scope)
    return found is not None and found.enabled_at is not None


@pytest.fixture
def region() -> Iterator[MetadataRegion]:
    with metadata_region() as made:
        made.create("web")
        yield made


@pytest.fixture
def guest(region: MetadataRegion, make_guest: MakeGuest) -> Guest:
    return make_guest(url(region), poll_seconds=NEVER_SECONDS)


# Single questions


def test_a_document_is_read_and_an_event_approved(region: MetadataRegion, guest: Guest) -> None:
    first = guest.document()
    assert first is not None
    assert first.events == ()
    event_id = region.restart("web")
    second = guest.document()
    assert second is not None
    assert [(event.event_id, event.status) for event in second.events] == [(event_id, "Scheduled")]
    assert second.events[0].not_before == NOON + timedelta(minutes=15)
    guest.approve(event_id.lower())
    third = guest.document()
    assert third is not None
    assert [(event.status, event.not_before) for event in third.events] == [("Started", None)]


def test_an_instance_is_who_the_region_says(region: MetadataRegion, guest: Guest) -> None:
    region.create("front-0", spec=VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="shop", role="FrontEnd"))
    assert guest.instance().name == "web"
    assert guest.instance().vm_id == region.plane.region.vms["web"].vm_id


def test_an_approval_of_an_event_that_is_not_there_is_refused(region: MetadataRegion, guest: Guest) -> None:
    guest.document()
    event_id = region.restart("web")
    region.submit(CancelEvents((event_id,), "changed our mind"))
    with pytest.raises(Refused) as refused:
        guest.approve(event_id)
    assert refused.value.fault.status == 400


def test_one_connection_is_enough(region: MetadataRegion, guest: Guest) -> None:
    for _ in range(3):
        guest.document()
        guest.instance()
    assert region.do(lambda: region.face.connections) == 1


def test_proxies_of_the_environment_are_ignored(
    region: MetadataRegion, make_guest: MakeGuest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("FOREWARN_ENDPOINT", url(region))
    assert make_guest(None).document() is not None


def test_the_variable_of_0_1_works_with_a_warning(region: MetadataRegion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWARN_METADATA", url(region))
    monkeypatch.delenv("FOREWARN_ENDPOINT", raising=False)
    with pytest.warns(FutureWarning, match="say FOREWARN_ENDPOINT=http://"):
        client = Client()
    with client:
        assert client.document() is not None
    heard: list[str] = []
    with Client(on_fault=lambda fault, _: heard.append(fault.reason)) as client:
        assert len(heard) == 1


def test_an_unknown_caller_gets_unavailable_and_not_another_vms_instance(
    region: MetadataRegion, make_guest: MakeGuest
) -> None:
    region.create("other")
    with pytest.raises(Unavailable, match="answered 404"):
        make_guest(url(region, "nobody"), patience_seconds=0).document()


# Streams


def test_a_life_is_told_as_it_happens(region: MetadataRegion, guest: Guest) -> None:
    """The guest would look again in a quarter of an hour; that it hears of anything is the server's doing."""
    guest.document()
    changes = guest.watch()
    event_id = region.restart("web")
    appeared = next(changes)
    assert isinstance(appeared, Appeared)
    assert (appeared.event.event_id, appeared.at) == (event_id, NOON)
    guest.approve(event_id)
    started = next(changes)
    assert isinstance(started, Started)
    region.advance(HOUR)
    ended = next(changes)
    assert isinstance(ended, Ended)
    assert (ended.how, ended.at) == (Ending.COMPLETED, NOON + HOUR)


def test_a_waiting_guest_is_told_at_once(region: MetadataRegion, guest: Guest) -> None:
    readings = guest.readings()
    next(readings)
    with ThreadPoolExecutor(1) as pool:
        news = pool.submit(next, readings)
        event_id = region.restart("web")
        document = news.result().document
    assert document is not None
    assert [event.event_id for event in document.events] == [event_id]


def test_a_canceled_event_is_told_from_a_completed_one(region: MetadataRegion, guest: Guest) -> None:
    guest.document()
    changes = guest.watch()
    event_id = region.restart("web")
    next(changes)
    region.submit(CancelEvents((event_id,), "changed our mind"))
    ended = next(changes)
    assert isinstance(ended, Ended)
    assert ended.how == Ending.CANCELED


def test_the_time_of_a_reading_is_the_regions(region: MetadataRegion, guest: Guest) -> None:
    region.advance(100 * HOUR)
    assert next(guest.readings()).at == NOON + 100 * HOUR


# The manners of Azure


def test_the_first_answer_may_be_slow(make_guest: MakeGuest) -> None:
    with metadata_region(MetadataSettings(first_read_delay=timedelta(minutes=2))) as region:
        region.create("web")
        guest = make_guest(url(region), timeout_seconds=0.001, first_timeout_seconds=60)
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(guest.document)
            until(lambda: region.do(lambda: is_enabled(region, "vm/web")), "the first read to arrive")
            region.advance(timedelta(minutes=2))
            document = reading.result()
    assert document is not None


@pytest.mark.parametrize("kind", [FaultKind.GONE, FaultKind.THROTTLED, FaultKind.ERROR, FaultKind.DROP])
def test_faults_are_waited_out_and_reported(kind: FaultKind, make_guest: MakeGuest) -> None:
    faults: list[Fault] = []
    with metadata_region() as region:
        region.create("web")
        strike(region, kind, 3)
        guest = make_guest(url(region), on_fault=lambda fault, _: faults.append(fault))
        document = guest.document()
    assert document is not None
    assert len(faults) == 3


def test_an_empty_answer_is_no_information(region: MetadataRegion, guest: Guest) -> None:
    strike(region, FaultKind.EMPTY, 1)
    assert guest.document() is None
    assert guest.document() is not None


def test_a_stream_survives_everything_and_misses_nothing(region: MetadataRegion, make_guest: MakeGuest) -> None:
    guest = make_guest(url(region), poll_seconds=0.001, timeout_seconds=5)
    guest.document()
    changes = guest.watch()
    for kind in (FaultKind.GONE, FaultKind.EMPTY, FaultKind.DROP, FaultKind.ERROR, FaultKind.THROTTLED):
        strike(region, kind, 2)
    event_id = region.restart("web")
    appeared = next(changes)
    for kind in (FaultKind.EMPTY, FaultKind.DROP):
        strike(region, kind, 2)
    region.advance(timedelta(minutes=15))
    started = next(changes)
    assert [type(change) for change in (appeared, started)] == [Appeared, Started]
    assert started.event.event_id == event_id


# Closing


def test_closing_ends_a_stream_and_a_call(region: MetadataRegion) -> None:
    client = Client(url(region), poll_seconds=NEVER_SECONDS)
    readings = client.readings()
    next(readings)
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(list, readings)
        client.close()
        assert rest.result() == []
    with pytest.raises(Closed):
        client.document()
    client.close()


def test_closing_wakes_who_waits_to_try_again() -> None:
    with Client("127.0.0.1:1", retry_seconds=NEVER_SECONDS) as client, ThreadPoolExecutor(1) as pool:
        call = pool.submit(client.document)
        client.close()
        with pytest.raises(Closed):
            call.result()


def test_one_thread_approves_while_another_waits(region: MetadataRegion) -> None:
    with Client(url(region), poll_seconds=NEVER_SECONDS) as client, ThreadPoolExecutor(1) as pool:
        client.document()
        event_id = region.restart("web")
        changes = client.watch()
        next(changes)
        started = pool.submit(next, changes)
        client.approve(event_id)
        assert isinstance(started.result(), Started)


def test_closing_on_a_loop_ends_a_stream_and_a_call(region: MetadataRegion) -> None:
    async def story() -> None:
        async with AsyncClient(url(region), poll_seconds=NEVER_SECONDS) as client:
            readings = client.readings()
            await anext(readings)

            async def rest() -> list[Any]:
                return [reading async for reading in readings]

            waiting = asyncio.create_task(rest())
            await client.instance()
            await client.close()
            assert await waiting == []
            with pytest.raises(Closed):
                await client.document()

    asyncio.run(story())


def test_a_canceled_task_leaves_the_client_usable(region: MetadataRegion) -> None:
    async def story() -> None:
        async with AsyncClient(url(region), poll_seconds=NEVER_SECONDS) as client:
            readings = client.readings()
            await anext(readings)
            waiting = asyncio.ensure_future(anext(readings))
            await client.document()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await client.document() is not None

    asyncio.run(story())


def test_tasks_may_ask_at_the_same_time(region: MetadataRegion) -> None:
    async def story() -> None:
        async with AsyncClient(url(region)) as client:
            found = await asyncio.gather(*(client.document() for _ in range(20)), client.instance())
            assert None not in found

    asyncio.run(story())
