"""The nodes of a region; and that whoever asks this one sees what any of them has written, or is told why not."""

from __future__ import annotations

from contextlib import AbstractContextManager, aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from forewarn import __version__
from forewarn.plane.clock import RealClock, wall_time
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Node, Uncertain
from forewarn.plane.standing import Standing
from forewarn.stores.memory import MemoryJournal
from forewarn.stores.shared_memory import SharedMemory
from forewarn.web.operator.live.relays import RelayedVms
from forewarn.web.operator.routes.nodes import beside_of, leader_of, warnings

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench, OpenBench

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STALE = "This node has not heard from its store for 10 s."
NO_READER = (
    "No reader answers beside this node now. 3 readers have ended unexpectedly since it started. "
    "Each is followed by another; the log says why."
)
NOT_OF_THE_REGION = {
    "GET /openapi.json",
    "GET /v1/settings",
    "GET /v1/resource-manager",
    "GET /v1/faults",
    "DELETE /v1/faults",
    "DELETE /v1/faults/{fault_id}",
}


async def test_a_region_of_one_node_lists_that_one(bench: Bench) -> None:
    bench.plane.membership.introduce("alpha", ("metadata", "control"), ("http://127.0.0.1:1",))
    await bench.create("lone")

    found = await bench.get("/v1/nodes")

    (node,) = found["nodes"]
    assert found["warnings"] == []
    assert (node["name"], node["version"], node["faces"]) == ("alpha", __version__, ["metadata", "control"])
    assert (node["urls"], node["seq"], node["lag"]) == (["http://127.0.0.1:1"], bench.plane.seq, 0)
    assert (node["leads"], node["draining"], node["silent"], node["this"]) == (True, False, False, True)
    assert node["seen_seconds_ago"] == 0


async def test_a_node_that_drains_is_listed_as_such(bench: Bench) -> None:
    bench.plane.membership.drain()

    assert (await bench.get("/v1/nodes"))["nodes"][0]["draining"] is True


async def test_a_node_tells_of_its_readers_and_of_the_relays_that_follow_it_now(bench: Bench) -> None:
    alone = (await bench.get("/v1/nodes"))["beside"]
    await bench.create("lone")
    desk = bench.app.state.desk
    bench.app.state.desk = replace(desk, readers=lambda: (2, 1))
    async with (
        aclosing(desk.newsroom.follow(RelayedVms(frozenset({"lone"})), desk.streams, lambda: True)) as one,
        aclosing(desk.newsroom.follow(RelayedVms(host="host-0"), desk.streams, lambda: True)) as other,
    ):
        await anext(one)
        await anext(other)
        beside = (await bench.get("/v1/nodes"))["beside"]
    left = (await bench.get("/v1/nodes"))["beside"]

    assert alone == {"readers": 0, "readers_ended": 0, "relays": 0, "told": []}
    assert (beside["readers"], beside["readers_ended"], beside["relays"]) == (2, 1, 2)
    assert beside["told"] == [
        "2 readers answer VMs beside this node.",
        "1 reader has ended unexpectedly since it started. Each is followed by another; the log says why.",
        "2 relays follow this node.",
    ]
    assert (left["relays"], left["told"]) == (0, beside["told"][:2])


@pytest.mark.parametrize(
    ("readers", "ended", "relays", "told"),
    [
        (0, 0, 0, []),
        (1, 0, 0, ["1 reader answers VMs beside this node."]),
        (0, 0, 1, ["1 relay follows this node."]),
        (
            0,
            3,
            0,
            [NO_READER],
        ),
    ],
)
def test_what_there_is_none_of_is_not_spoken_of(readers: int, ended: int, relays: int, told: list[str]) -> None:
    assert beside_of(readers, ended, relays).told == told


async def test_what_one_node_has_answered_the_other_knows_and_lists(open_bench: OpenBench, anyio_backend: str) -> None:
    store = SharedMemory(wall_time)
    async with (
        open_bench(journal=store.join(), clock=RealClock()) as alpha,
        open_bench(journal=store.join(), clock=RealClock()) as beta,
    ):
        for bench, name in ((alpha, "alpha"), (beta, "beta")):
            bench.plane.membership.introduce(name, ("control",), ())
            store.join().shared.announce(bench.plane.membership.node)
        for turn, (here, there) in enumerate([(alpha, beta), (beta, alpha)] * 10):
            await here.create(f"vm-{turn}")
            assert (await there.get(f"/v1/vms/vm-{turn}"))["name"] == f"vm-{turn}"
        found = await beta.get("/v1/nodes")

    assert [(each["name"], each["this"]) for each in found["nodes"]] == [("alpha", False), ("beta", True)]
    assert sum(each["leads"] for each in found["nodes"]) == 1


def node(name: str, *, version: str = "1.0", rules: str = "a", leads: bool = False, ago: float = 0) -> Node:
    seen_at = NOON - timedelta(seconds=ago)
    return Node(name, name, version, (), (), rules, NOON, seen_at, 1, leads, False)


def test_nodes_that_agree_are_no_cause_for_a_warning() -> None:
    assert list(warnings([node("a", leads=True), node("b", ago=9)], "a", NOON)) == []


def test_nodes_that_differ_or_are_silent_are_warned_of() -> None:
    nodes = [node("a", rules="x"), node("b", version="1.1"), node("c", ago=11)]

    silent, versions, rules, leader = warnings(nodes, "", NOON)

    assert silent == "Nothing is heard of c: killed, stopped, or cut off from the store."
    assert versions == "The nodes run different versions: 1.0, 1.1. Bring the older ones up to date."
    assert rules.startswith("The nodes go by different rules (a against b, c): ")
    assert leader.startswith("No node leads now")


@pytest.mark.parametrize(
    ("nodes", "leader"),
    [
        ([node("a", leads=True), node("b")], "a"),
        ([node("a", leads=True, ago=5), node("b", leads=True, ago=2)], "b"),
        ([node("a", leads=True), node("this", leads=True, ago=2)], "this"),
        ([node("a", leads=True, ago=11), node("b")], ""),
        ([], ""),
    ],
)
def test_the_leader_is_the_node_that_said_so_last(nodes: list[Node], leader: str) -> None:
    assert leader_of(nodes, "this", NOON) == leader


class Watched:
    """Notes that a plane was asked to look what others have written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = 0
        monkeypatch.setattr(Plane, "refresh", self._refresh)

    async def _refresh(self) -> None:
        self.looks += 1


async def test_every_route_that_tells_of_the_region_looks_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is wrong with the request: the look comes before any answer about the region."""
    document = await bench.get("/openapi.json")
    watched = Watched(monkeypatch)
    blind = set()
    for path, methods in document["paths"].items():
        for method in methods:
            if path.endswith("/stream"):
                continue  # it would not end; its own test is below
            watched.looks = 0
            target = path.replace("{", "").replace("}", "")
            await bench.client.request(method, target, json={"ids": ["X"], "names": ["x"], "hosts": ["x"]})
            if watched.looks != 1:
                blind.add(f"{method.upper()} {path}")

    assert blind <= NOT_OF_THE_REGION


async def test_a_stream_begins_with_what_others_have_written(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)

    await bench.refused(400, "GET", "/v1/journal/stream?after=1000")

    assert watched.looks == 1


async def test_a_node_that_may_not_be_current_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.create("lone")
    monkeypatch.setattr(Standing, "stale", STALE)

    for method, path in (("GET", "/v1/vms"), ("GET", "/v1/ping"), ("POST", "/v1/clock/next")):
        answer = await bench.client.request(method, path)
        error = answer.json()["error"]
        assert (answer.status_code, error["kind"], error["message"]) == (503, "unavailable", STALE)
        assert answer.headers["Retry-After"] == "1"
    assert (await bench.client.get("/v1/settings")).status_code == 200


class Doubtful(MemoryJournal):
    """Goes away while it is told to commit."""

    gone = False

    def write(self) -> AbstractContextManager[Any]:  # type: ignore[override]  # fails before it writes
        if self.gone:
            raise Uncertain("The connection was lost at port 5432 of db.example.")
        return super().write()


async def test_a_write_whose_outcome_is_not_known_is_answered_as_uncertain(
    open_bench: OpenBench, anyio_backend: str
) -> None:
    journal = Doubtful()
    async with open_bench(journal=journal) as bench:
        journal.gone = True
        answer = await bench.client.post("/v1/vms", json={"name": "lone"})
        journal.gone = False

    error = answer.json()["error"]
    assert (answer.status_code, error["kind"]) == (502, "uncertain")
    assert "it has happened, or it has not" in error["message"]
    assert "db.example" not in answer.text
    assert "Retry-After" not in answer.headers


async def test_a_node_without_a_metadata_face_takes_no_fault_rule(open_bench: OpenBench, anyio_backend: str) -> None:
    async with open_bench(metadata_url="") as bench:
        message = await bench.refused(409, "POST", "/v1/faults", {"kind": "gone"})

        assert message.startswith("This node has no metadata face")
        assert await bench.get("/v1/faults") == {"faults": []}
