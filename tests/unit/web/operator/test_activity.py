"""Activity: one line for each request, in words, from whatever door it came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.region import replace
from forewarn.core.specs import VmSpec
from forewarn.plane.ports import Origin
from forewarn.web.operator.history import activity_words
from forewarn.web.operator.history.activity import Book, Bounds, Wanted, activity_fields, after, newest
from forewarn.web.operator.schema.requests import Door

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


def az(command: str, request_id: str) -> Origin:
    return Origin("resource-manager", f"az {command}", request_id)


async def lines(bench: Bench, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await bench.get("/v1/activity", **query))["activity"]
    return found


def told(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["text"], ", ".join(line["about"]), line["outcome"]


async def test_a_request_is_one_line_that_tells_who_asked_for_what_and_what_came_of_it(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-1")
    headers = {"X-Forewarn-Client": "deploy script"}
    answer = await bench.client.post("/v1/vms/restart", json={"names": ["web-0", "web-1"]}, headers=headers)

    line = (await lines(bench))[-1]

    assert line == {
        "seq": bench.plane.seq,
        "first_seq": bench.plane.seq - 1,
        "at": "2026-01-01T12:00:00Z",
        "until": "2026-01-01T12:00:00Z",
        "times": 1,
        "door": "operator",
        "who": "deploy script",
        "request_id": answer.headers["X-Request-Id"],
        "command": "RestartVms",
        "text": "restart VMs",
        "about": ["vm/web-0", "vm/web-1"],
        "about_total": 2,
        "outcome": "2 Reboot events scheduled, not before 2026-01-01T12:15:00Z",
    }


async def test_an_event_is_told_from_first_read_to_recovery_by_whoever_did_it(bench: Bench) -> None:
    await bench.create("db")
    await bench.read("db")
    (event,) = (await bench.post("/v1/vms/restart", {"names": ["db"]}, 202))["events"]
    await bench.plane.submit(c.Approve((event["id"],), "db", "vm/db"), Origin("vm", "db", "request-3"))
    await bench.settled()
    await bench.post("/v1/clock/advance", {"seconds": 600})

    found = await lines(bench)

    assert [(line["door"], line["who"].partition("/")[0], *told(line)) for line in found] == [
        ("operator", "python-httpx", "create VMs", "vm/db", "1 VM created"),
        ("vm", "db", "read documents", "vm/db", "1 scope enabled"),
        (
            "operator",
            "python-httpx",
            "restart VMs",
            "vm/db",
            "1 Reboot event scheduled, not before 2026-01-01T12:15:00Z",
        ),
        ("vm", "db", "approve events", "vm/db", "1 Reboot event approved; 1 Reboot event started"),
        ("driver", "", "begin impacts", "vm/db", "1 Reboot impact begun"),
        ("clock", "", "let time pass", "vm/db", "1 Reboot impact over"),
        ("clock", "", "let time pass", "vm/db", "1 Reboot event completed"),
        ("operator", "python-httpx", "move the clock", "clock", "it is 2026-01-01T12:10:00Z"),
    ]


async def test_what_was_done_without_telling_anybody_is_told_here(bench: Bench) -> None:
    await bench.create("web", count=2)
    await bench.post("/v1/vms/restart", {"names": ["web-0", "web-1"]}, 202)

    restarted = (await lines(bench, door="operator"))[-1]

    assert told(restarted) == ("restart VMs", "vm/web-0, vm/web-1", "2 VMs restarted at once, and nobody is told")


async def test_a_resource_managers_request_is_told_by_what_it_did(bench: Bench) -> None:
    put = c.PutScaleSet("web", "rg1", VmSpec(), "SEED", capacity=2)
    keep = c.KeepResource("/subscriptions/s/web", "{}")
    await bench.plane.submit(c.Together((put, keep), "OP1", "create"), az("vmss create", "1"))
    await bench.plane.enable(bench.plane.region.vms["web_0"])
    await bench.plane.submit(
        c.Together((c.RestartVms(("web_0",), "SEED2"),), "OP2", "restart"), az("vmss restart", "2")
    )
    await bench.plane.submit(c.Together((c.DeleteScaleSet("web", "SEED3"),), "OP3", "delete"), az("vmss delete", "3"))
    reapply = "Microsoft.Compute/virtualMachines/reapply/action"
    await bench.plane.submit(c.Together((), "OP4", reapply), az("vm reapply", "5"))
    await bench.plane.submit(c.KeepResource("/subscriptions/s/vnet", "{}"), az("network vnet create", "4"))

    found = await lines(bench, door="resource-manager")

    assert [line["who"] for line in found] == [
        "az vmss create",
        "az vmss restart",
        "az vmss delete",
        "az vm reapply",
        "az network vnet create",
    ]
    assert [line["text"] for line in found] == [
        "create a scale set",
        "restart VMs",
        "delete a scale set",
        "reapply",
        "keep a resource",
    ]
    assert [line["about"] for line in found] == [
        ["scale-set/web"],
        ["vm/web_0"],
        ["scale-set/web"],
        ["OP4"],
        ["/subscriptions/s/vnet"],
    ]


async def test_scaling_and_changing_a_set_are_told_apart(bench: Bench) -> None:
    await bench.post("/v1/scale-sets", {"name": "web", "capacity": 1}, 201)
    await bench.client.put("/v1/scale-sets/web", json={"size": "Standard_A1"})
    await bench.post("/v1/scale-sets/web/scale", {"capacity": 3}, 202)
    await bench.post("/v1/scale-sets/web/upgrade", {"instances": ["0"]}, 202)
    await bench.post("/v1/scale-sets/web/protect", {"instance": "0"}, 202)

    assert [told(line) for line in await lines(bench)] == [
        ("create a scale set", "scale-set/web", "1 scale set created; model 1; 1 VM created"),
        ("change a scale set", "scale-set/web", "model 2"),
        ("scale a scale set", "scale-set/web", "2 VMs created"),
        ("upgrade instances", "vm/web_0", "1 instance upgraded"),
        ("protect an instance", "vm/web_0", "1 instance protected"),
    ]


async def test_hosts_and_campaigns_are_told_by_their_names(bench: Bench) -> None:
    await bench.create("web", count=5)
    await bench.read("web-0")
    await bench.post("/v1/hosts/maintain", {"kind": "freeze", "hosts": ["host-0"]}, 202)
    campaign = await bench.post("/v1/campaigns", {"kind": "reboot"}, 201)

    maintained, started = (await lines(bench, door="operator"))[-2:]

    assert told(maintained) == (
        "maintain hosts",
        "host/0",
        "1 Freeze event scheduled, not before 2026-01-01T12:15:00Z",
    )
    assert started["about"] == [campaign["id"]]


async def test_a_refused_request_leaves_no_trace(bench: Bench) -> None:
    await bench.create("web")
    before = await lines(bench)

    await bench.refused(404, "POST", "/v1/vms/restart", {"names": ["nobody"]})

    assert await lines(bench) == before


async def test_lines_can_be_of_one_door(bench: Bench) -> None:
    await bench.create("web", count=2)
    await bench.read("web-0", "web-1")

    assert [line["who"] for line in await lines(bench, door="vm")] == ["web-0", "web-1"]
    assert await lines(bench, door="portal") == []


@pytest.mark.parametrize("name", ["web_0", "vm/WEB_0", "host-0", "host/0", "placement-group/web~0", "scale-set/web"])
async def test_lines_can_be_about_one_thing_and_know_what_its_events_are_about(bench: Bench, name: str) -> None:
    await bench.create("lone")
    await bench.post("/v1/scale-sets", {"name": "web", "capacity": 1}, 201)
    await bench.post("/v1/vms/delete", {"names": ["lone"]}, 202)
    await bench.read("web_0")
    (event,) = (await bench.post("/v1/hosts/maintain", {"kind": "freeze", "hosts": ["host-0"]}, 202))["events"]
    await bench.post("/v1/events/approve", {"ids": [event["id"]]})
    await bench.settled()

    found = [line["text"] for line in await lines(bench, about=name)]

    assert found[-3:] == ["maintain hosts", "approve events", "begin impacts"]
    assert "delete VMs" not in found


async def test_an_event_that_has_ended_is_still_known(bench: Bench) -> None:
    await bench.create("db")
    await bench.read("db")
    await bench.post("/v1/vms/restart", {"names": ["db"]}, 202)
    seq = bench.plane.seq
    await bench.post("/v1/clock/advance", {"seconds": 3600})

    found = await lines(bench, after=seq, about="db")

    assert [line["outcome"] for line in found] == [
        "1 Reboot event started",
        "1 Reboot impact begun",
        "1 Reboot impact over",
        "1 Reboot event completed",
    ]


async def test_pages_cover_the_journal_once_and_never_cut_a_request(bench: Bench) -> None:
    for number in range(7):
        await bench.create(f"set{number}", count=3)
    whole = await lines(bench)
    seen: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = await bench.get("/v1/activity", after=after, limit=2)
        assert len(page["activity"]) <= 2
        assert page["head"] == bench.plane.seq
        seen += page["activity"]
        after = page["next"]

    assert seen == whole
    assert [line["about_total"] for line in seen] == [3] * 7


async def test_the_newest_are_shown_unless_told_otherwise(bench: Bench) -> None:
    for number in range(5):
        await bench.create(f"vm{number}")

    assert [line["about"] for line in await lines(bench, limit=2)] == [["vm/vm3"], ["vm/vm4"]]
    assert await lines(bench, after=10**6) == []


async def test_the_newest_are_found_however_long_the_requests_are(bench: Bench) -> None:
    for number in range(3):
        await bench.create(f"set{number}", count=10)
    await bench.create("last")
    plane, bounds = bench.plane, Bounds(window=2)
    book = Book(plane.region, plane.journal)

    def sizes(limit: int) -> list[int]:
        found = newest(plane.journal, book, Wanted(), plane.seq, limit, bounds)
        return [activity_fields(runs, book).about_total for runs in found]

    assert sizes(3) == [10, 10, 1]
    assert sizes(500) == [10, 10, 10, 1]


async def test_an_answer_looks_at_a_bounded_part_of_the_journal(bench: Bench) -> None:
    for number in range(30):
        await bench.create(f"vm{number}")
    journal, head, bounds = bench.plane.journal, bench.plane.seq, Bounds(most=10, window=4)
    book = Book(bench.plane.region, journal)

    found, looked_at = after(journal, book, Wanted(door="vm"), 0, head, 100, bounds)

    assert found == []
    assert 0 < looked_at < head
    assert 0 < len(newest(journal, book, Wanted(), head, 100, bounds)) <= 10


async def test_what_an_event_is_about_is_told_anew_once_its_beginning_was_read(bench: Bench) -> None:
    """A book keeps what it has found; the journal's own beginning of an event knows VMs that have left it since."""
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-0")
    (host,) = {vm.host for key, vm in bench.plane.region.vms.items() if key == "web-0"}
    await bench.post("/v1/hosts/maintain", {"hosts": [f"host-{host}"], "kind": "freeze"}, 202)
    region, journal = bench.plane.region, bench.plane.journal
    (event,) = region.events.values()
    shrunk = replace(region, events=region.events.set(event.id, replace(event, vms=())))
    book = Book(shrunk, journal)
    (scheduled,) = (each for each in journal.about(event.id, 1) if isinstance(each.fact, f.EventScheduled))

    assert not [kind for kind, _ in book.things_of(event.id) if kind == "vm"]
    assert book.things_of("an event that never was") == (("event", "an event that never was"),)

    book.learn([scheduled])

    assert [subject for kind, subject in book.things_of(event.id) if kind == "vm"] == [f"vm/{vm}" for vm in event.vms]


async def test_many_things_are_counted_and_the_first_few_named(bench: Bench) -> None:
    await bench.create("web", count=50)

    (line,) = await lines(bench)

    assert (len(line["about"]), line["about_total"], line["outcome"]) == (20, 50, "50 VMs created")


@pytest.mark.parametrize("query", [{"after": -1}, {"limit": 0}, {"limit": 10_001}, {"door": "window"}, {"whom": "me"}])
async def test_a_question_that_is_none_is_refused(bench: Bench, query: dict[str, Any]) -> None:
    (name,) = query
    assert f"'{name}'" in await bench.refused(400, "GET", "/v1/activity", params=query)


def test_there_are_words_for_every_command_and_every_fact() -> None:
    commands = {kind.__name__ for kind in (*get_args(c.Single), c.Together)}
    assert set(activity_words.COMMANDS) == commands

    told_apart: set[type] = {
        f.ScopesRead,
        f.EventScheduled,
        f.EventBornStarted,
        f.ScaleSetModelChanged,
        f.InstanceProtected,
        f.ClockMoved,
        f.ScopesRead,
    }
    told_apart |= {f.ImpactBegan, f.ImpactEnded, *activity_words._STEPS}
    assert set(activity_words._MOVES) == set(activity_words._STEPS)
    assert told_apart | set(activity_words._PHRASES) | set(activity_words._BESIDE) == set(get_args(f.Fact))


def test_every_door_has_a_name() -> None:
    assert {"portal", "operator", "resource-manager", "vm", "clock", "driver"} == set(get_args(Door))
