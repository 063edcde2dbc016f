"""The clock, the settings, and the sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from forewarn import __version__
from forewarn.plane.clock import RealClock

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench, OpenBench

pytestmark = pytest.mark.anyio


async def test_a_ping_tells_what_answers(bench: Bench) -> None:
    await bench.create("web", count=3)
    assert await bench.get("/v1/ping") == {
        "name": "forewarn",
        "version": __version__,
        "region": "",
        "data": "",
        "now": "2026-01-01T12:00:00Z",
        "clock": {"now": "2026-01-01T12:00:00Z", "kind": "virtual", "speed": 0.0, "next_deadline": None},
        "vms": 3,
        "seq": bench.plane.seq,
        "metadata": "http://127.0.0.1:16925",
    }


async def test_settings_tell_where_they_came_from_and_keep_the_secret(bench: Bench) -> None:
    assert await bench.get("/v1/settings") == [
        {"name": "vms_per_host", "value": "4", "source": "file", "help": "VMs that fit on one host"},
        {"name": "token", "value": "(set)", "source": "environment", "help": "secret"},
        {"name": "store", "value": "postgresql://me@db.example/f", "source": "environment", "help": "database"},
    ]


async def test_the_clock_moves_by_seconds_and_what_is_due_happens_on_the_way(bench: Bench) -> None:
    await bench.create("lone")
    await bench.read("lone")
    event_id = (await bench.post("/v1/vms/restart", {"names": ["lone"]}, 202))["events"][0]["id"]
    assert (await bench.get("/v1/clock"))["next_deadline"] == "2026-01-01T12:15:00Z"

    clock = await bench.post("/v1/clock/advance", {"seconds": 900})

    assert clock["now"] == "2026-01-01T12:15:00Z"
    assert (await bench.get(f"/v1/events/{event_id}"))["phase"] == "started"


async def test_the_clock_moves_to_the_next_change(bench: Bench) -> None:
    await bench.create("lone")
    assert (await bench.post("/v1/clock/next"))["moved"] is False
    await bench.read("lone")
    await bench.post("/v1/vms/restart", {"names": ["lone"]}, 202)

    clock = await bench.post("/v1/clock/next", {})

    assert (clock["moved"], clock["now"]) == (True, "2026-01-01T12:15:00Z")


async def test_a_turn_lists_what_happened_on_the_way_at_its_own_instant(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-0")
    await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202)

    turned = await bench.post("/v1/clock/advance", {"seconds": 3600})

    assert [(line["at"][11:19], line["about"], line["text"]) for line in turned["happened"]] == [
        ("12:15:00", ["vm/web-0"], "1 Reboot event started"),
        ("12:15:00", ["vm/web-0"], "1 Reboot impact begun"),
        ("12:15:30", ["vm/web-0"], "1 Reboot impact over"),
        ("12:16:00", ["vm/web-0"], "1 Reboot event completed"),
    ]
    assert (turned["now"], turned["happened_left_out"]) == ("2026-01-01T13:00:00Z", 0)


async def test_a_turn_to_the_next_change_or_to_an_instant_tells_of_a_scope_that_it_disabled(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.create("lone")
    await bench.read("web-0", "lone")

    moved = await bench.post("/v1/clock/next")
    await bench.read("web-0")
    later = await bench.post("/v1/clock/to", {"instant": "2026-01-03T12:00:00Z"})
    nothing = await bench.post("/v1/clock/next")

    assert [(line["text"], line["about"]) for line in moved["happened"]] == [
        ("2 scopes disabled: nobody has read there", ["availability-set/front", "vm/lone"]),
    ]
    assert [(line["text"], line["about"]) for line in later["happened"]] == [
        ("1 scope disabled: nobody has read there", ["availability-set/front"]),
    ]
    assert (nothing["moved"], nothing["happened"]) == (False, [])


async def test_the_clock_moves_to_an_instant_in_any_zone(bench: Bench) -> None:
    clock = await bench.post("/v1/clock/to", {"instant": "2026-01-01T15:30:00+03:00"})
    assert clock["now"] == "2026-01-01T12:30:00Z"


async def test_the_clock_can_be_let_run_and_stopped(bench: Bench) -> None:
    running = await bench.post("/v1/clock/speed", {"speed": 60})
    assert (running["kind"], running["speed"]) == ("fast", 60)
    stopped = await bench.post("/v1/clock/speed", {"speed": 0})
    assert (stopped["kind"], stopped["speed"]) == ("virtual", 0)


async def test_time_never_goes_back(bench: Bench) -> None:
    await bench.refused(409, "POST", "/v1/clock/to", {"instant": "2026-01-01T11:59:59Z"})


async def test_times_that_cannot_be_are_refused(bench: Bench) -> None:
    for instant in ("2026-01-01T12:30:00", "soon", "0001-01-01T00:00:00+14:00", "1767270600", 1767270600, None):
        await bench.refused(400, "POST", "/v1/clock/to", {"instant": instant})
    for seconds in (-1, "900", 1e300, None, True):
        await bench.refused(400, "POST", "/v1/clock/advance", {"seconds": seconds})
    for speed in (-1, "fast", 1e9):
        await bench.refused(400, "POST", "/v1/clock/speed", {"speed": speed})


async def test_the_calendar_has_an_end(bench: Bench) -> None:
    await bench.post("/v1/clock/to", {"instant": "9000-12-31T00:00:00Z"})
    await bench.refused(400, "POST", "/v1/clock/advance", {"seconds": 86_400 * 2})


async def test_a_real_clock_is_not_turned(open_bench: OpenBench, anyio_backend: str) -> None:
    async with open_bench(clock=RealClock()) as bench:
        assert (await bench.get("/v1/clock"))["kind"] == "real"
        for path, body in (("advance", {"seconds": 60}), ("speed", {"speed": 2})):
            before = bench.plane.seq
            answer = await bench.client.post(f"/v1/clock/{path}", json=body)
            assert (answer.status_code, answer.json()["error"]["kind"]) == (409, "conflict")
            assert bench.plane.seq == before
