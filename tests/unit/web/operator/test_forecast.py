"""The forecast: what will happen if nobody acts, to a region's own end of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.core.forecast import Foreseen, course
from forewarn.core.looking.subjects import subject_of
from forewarn.plane import forecasting

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


def told(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(fact["at"], fact["fact"]) for fact in answer["facts"]]


async def restarted(bench: Bench) -> str:
    """Two VMs that read, and a restart of one of them that waits; its id."""
    await bench.create("web", count=2)
    await bench.read("web-0", "web-1")
    outcome = await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202)
    found: str = outcome["events"][0]["id"]
    return found


async def test_a_forecast_tells_an_event_to_its_end(bench: Bench) -> None:
    event = await restarted(bench)
    answer = await bench.get("/v1/forecast", event=event.lower())
    assert told(answer) == [
        ("2026-01-01T12:15:00Z", "EventStarted"),
        ("2026-01-01T12:15:00Z", "ImpactBegan"),
        ("2026-01-01T12:15:30Z", "ImpactEnded"),
        ("2026-01-01T12:16:00Z", "EventCompleted"),
    ]
    assert (answer["now"], answer["until"]) == ("2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z")
    assert (answer["cut_at"], answer["seq"]) == (None, bench.plane.seq)
    assert answer["facts"][0] == {
        "at": "2026-01-01T12:15:00Z",
        "fact": "EventStarted",
        "text": "Started.",
        "event": event,
        "type": "Reboot",
        "announced": True,
        "scope": "vm/web-0",
        "vms": ["web-0"],
        "vms_total": 1,
        "host": None,
        "campaign": None,
        "estimated": False,
    }


async def test_looking_ahead_changes_nothing(bench: Bench) -> None:
    await restarted(bench)
    before = bench.plane.region, bench.plane.seq, bench.plane.now(), await bench.get("/v1/activity")
    await bench.get("/v1/forecast", until="2026-01-08T12:00:00Z")
    assert before == (bench.plane.region, bench.plane.seq, bench.plane.now(), await bench.get("/v1/activity"))


async def test_when_the_clock_is_turned_what_was_forecast_happens(bench: Bench) -> None:
    await restarted(bench)
    await bench.post("/v1/campaigns", {"kind": "reboot", "hosts_at_once": 1}, 201)
    await bench.settled()
    ahead = told(await bench.get("/v1/forecast", until="2026-01-05T12:00:00Z"))
    seq = bench.plane.seq
    await bench.post("/v1/clock/to", {"instant": "2026-01-05T12:00:00Z"})
    records = (await bench.get("/v1/journal", after=seq, limit=1000))["records"]
    assert ahead == [(record["at"], record["fact"]) for record in records if record["fact"] != "ClockMoved"]
    assert len(ahead) > 10


async def test_a_forecast_can_be_of_one_scope_or_one_vm(bench: Bench) -> None:
    await restarted(bench)
    lapse = ("2026-01-02T12:00:00Z", "ScopeDisabled")
    for query in ("scope=vm/web-1", "vm=web-1", "vm=WEB-1"):
        answer = (await bench.client.get(f"/v1/forecast?{query}")).json()
        assert told(answer) == [lapse]
        assert answer["facts"][0]["scope"] == "vm/web-1"
    assert len(told(await bench.get("/v1/forecast", vm="web-0"))) == 5


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ({"event": "4CAEA225-A741-474D-A72E-428C86FCD853"}, 404, "There is no event 4CAEA225"),
        ({"vm": "nobody"}, 404, "There is no VM named 'nobody'"),
        ({"scope": "availability-set/none"}, 404, "availability-set/none"),
        ({"until": "2026-01-01T11:59:59Z"}, 400, "It is 2026-01-01T12:00:00Z already"),
        ({"until": "tomorrow"}, 400, "ISO 8601"),
        ({"untl": "x"}, 400, "There is no query parameter 'untl' here."),
    ],
)
async def test_what_cannot_be_looked_at_is_refused(
    bench: Bench, query: dict[str, str], status: int, sentence: str
) -> None:
    assert sentence in await bench.refused(status, "GET", "/v1/forecast", params=query)


async def test_a_forecast_looks_eight_days_ahead_and_says_so(bench: Bench) -> None:
    await bench.create("web")
    answer = await bench.get("/v1/forecast", until="2026-02-01T12:00:00Z")
    assert answer["cut_at"] == "2026-01-09T12:00:00Z"
    assert (await bench.get("/v1/forecast", until="2026-01-09T12:00:00Z"))["cut_at"] is None


async def test_a_forecast_tells_five_hundred_facts_and_where_the_others_begin(bench: Bench) -> None:
    await bench.create("web", count=600, read=True)
    answer = await bench.get("/v1/forecast")
    assert len(answer["facts"]) == 500
    assert answer["cut_at"] == "2026-01-02T12:00:00Z"
    assert len((await bench.get("/v1/forecast", vm="web-599"))["facts"]) == 1


async def test_a_forecast_stops_looking_after_a_bounded_number_of_facts(bench: Bench) -> None:
    await bench.create("web", count=100, read=True)
    plane = bench.plane
    tomorrow = plane.now() + timedelta(days=1)

    def is_of_the_last(each: Foreseen) -> bool:
        return subject_of(each.fact) == "vm/web-99"

    cut = plane.forecasts.course(plane.region, plane.now(), most=50).until(tomorrow, is_of_the_last)
    whole = plane.forecasts.course(plane.region, plane.now()).until(tomorrow, is_of_the_last)
    assert (cut.facts, cut.cut_at) == ((), tomorrow)
    assert (len(whole.facts), whole.cut_at) == (1, None)


async def test_a_forecast_is_computed_once_for_all_readers_until_the_region_changes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(*given: Any) -> Any:
        made.append(1)
        return course(*given)

    monkeypatch.setattr(forecasting, "course", counted)
    await restarted(bench)
    answers = await asyncio.gather(*(bench.get("/v1/forecast", vm=f"web-{each % 2}") for each in range(50)))
    assert len(made) == 1
    assert [len(answer["facts"]) for answer in answers] == [5, 1] * 25
    await bench.post("/v1/vms/restart", {"names": ["web-1"]}, 202)
    assert len((await bench.get("/v1/forecast", vm="web-1"))["facts"]) == 5
    assert len(made) == 2


async def test_a_read_that_the_journal_does_not_know_is_counted(bench: Bench) -> None:
    await bench.create("web")
    await bench.read("web")
    await bench.post("/v1/clock/advance", {"seconds": 600})
    bench.plane.read_by("web")
    answer = await bench.get("/v1/forecast", until="2026-01-03T12:00:00Z")
    assert told(answer) == [("2026-01-02T12:10:00Z", "ScopeDisabled")]


@pytest.mark.parametrize("most", [1, 7, 40, 20_000])
async def test_what_becomes_of_one_event_is_what_a_look_at_everything_tells_of_it(bench: Bench, most: int) -> None:
    await bench.create("web", count=12, availability_set="front")
    await bench.create("lone", count=4, numbered=True)
    await bench.read("web-0", "lone-0", "lone-1")
    await bench.post("/v1/vms/restart", {"names": ["web-0", "web-3", "lone-0"]}, 202)
    await bench.post("/v1/hosts/maintain", {"hosts": ["host-1", "host-2"], "kind": "reboot"}, 202)
    plane = bench.plane
    for minutes in (1, 15, 16, 60 * 24):
        until = plane.now() + timedelta(minutes=minutes)
        for event in plane.region.events:

            def is_of_it(each: Foreseen, event: str = event) -> bool:
                return each.event is not None and each.event.id == event

            kept = plane.forecasts.course(plane.region, plane.now(), most)
            plain = plane.forecasts.course(plane.region, plane.now(), most).until(until, is_of_it)
            assert kept.until(until, is_of_it, event) == plain
            assert kept.until(until, is_of_it, event) == plain, "asked again, of what was unfolded before"
