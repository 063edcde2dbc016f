"""Nodes that are restarted, killed and drained, and nodes whose store fails: what is done once is done once, and what
was answered is kept."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg

from tests.e2e.nodes import (
    GROUP,
    VERSION,
    Balancer,
    ask,
    ask_on,
    balancer,
    enabled,
    listed,
    log_in,
    nodes,
    open_connection,
    ready,
    waiting_get,
)
from tests.e2e.program import ServerProgram
from tests.postgres import Server
from tests.waiting import until


def _draining(front: Balancer) -> list[str]:
    return [node["name"] for node in listed(front) if node["draining"]]


class Load:
    """People who create VMs and look at them, without pause, until the block ends."""

    def __init__(self, front: Balancer, people: int = 4) -> None:
        self._front = front
        self._people = people
        self._over = threading.Event()
        self.made: list[str] = []
        self.failed: list[str] = []
        self.answered = 0

    def __enter__(self) -> Load:
        self._pool = ThreadPoolExecutor(self._people)
        self._working = [self._pool.submit(self._work, person) for person in range(self._people)]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        for work in self._working:
            work.result()

    def go_on(self, answers: int) -> None:
        """Return when so many more were answered."""
        wanted = self.answered + answers
        until(lambda: self.answered >= wanted, f"{answers} more answers")

    def _work(self, person: int) -> None:
        for turn in range(1_000_000):
            if self._over.is_set():
                return
            name = f"load-{person}-{turn}"
            if self._ask("POST", "/v1/vms", {"name": name}, 201):
                self.made.append(name)
                self._ask("GET", f"/v1/vms/{name}", None, 200)

    def _ask(self, method: str, path: str, body: Any, wanted: int) -> bool:
        try:
            answer = self._front.ask(method, path, body)
        except OSError as problem:
            self.failed.append(f"{method} {path}: {problem!r}")
            return False
        if answer.status != wanted:
            self.failed.append(f"{method} {path}: {answer.status} {answer.body!r}")
        self.answered += 1
        return answer.status == wanted


def test_all_nodes_are_restarted_in_turn_and_no_request_fails(postgres: Server, tmp_path: Path) -> None:
    """As an upgrade does it, the leader last."""
    with nodes(postgres.region(), tmp_path, "--drain", "3s") as region, balancer(region) as front:
        leader = region.leader()
        statuses = []
        with Load(front) as load:
            for name in sorted(region.running, key=lambda each: each == leader):
                load.go_on(10)
                region[name].process.send_signal(signal.SIGTERM)
                # Called before the loop goes on
                until(lambda: name in _draining(front), f"{name} to be listed as draining")  # noqa: B023
                front.await_servers(**{name: "DOWN"})
                statuses.append(region[name].process.wait(60))
                assert name not in [node["name"] for node in listed(front)]
                region.start(name)
                front.await_servers(**{name: "UP"})
            load.go_on(10)
        there = {vm["name"] for vm in region["alpha"].json("vm", "list")}

    assert load.failed == []
    assert statuses == [0, 0, 0]
    assert set(load.made) <= there


def test_a_leader_that_is_killed_costs_no_read_and_no_write_that_was_answered(postgres: Server, tmp_path: Path) -> None:
    with nodes(postgres.region(), tmp_path) as region, balancer(region) as front:
        leader = region.leader()
        with Load(front) as load:
            load.go_on(20)
            region[leader].kill()
            front.await_servers(**{leader: "DOWN"})
            load.go_on(20)
        other = region.leader()
        there = {vm["name"] for vm in region[other].json("vm", "list")}
        verdict = region[other].forewarn("journal", "verify")
        listed = until(lambda: _silent(region[other].json("node", "list")), "a silent node")

    assert [failure for failure in load.failed if failure.startswith("GET")] == []
    assert set(load.made) <= there
    assert verdict.endswith("nothing wrong.\n")
    assert [node["name"] for node in listed["nodes"] if node["silent"]] == [leader]
    assert [node["name"] for node in listed["nodes"] if node["leads"]] == [other]
    assert listed["warnings"][0].startswith(f"Nothing is heard of {leader}")


def _silent(found: dict[str, Any]) -> dict[str, Any]:
    return found if any(node["silent"] for node in found["nodes"]) else {}


def test_a_campaign_takes_every_step_once_although_its_leader_dies(postgres: Server, tmp_path: Path) -> None:
    quick = ("--notice-freeze", "1s", "--recovery-freeze", "1s", "--duration-freeze", "1", "--update-domains", "3")
    with nodes(postgres.region(), tmp_path, *quick) as region:
        leader = region.leader()
        other = next(name for name in region.running if name != leader)
        region[other].forewarn("vm", "create", "web", "--count", "9", "--availability-set", "front")
        until(lambda: enabled(region[other], "web-0"), "a reader")
        campaign = region[other].json("campaign", "start", "--kind", "freeze")
        until(lambda: _kinds(region[other])["EventStarted"], "the first wave")
        region[leader].kill()
        until(lambda: _kinds(region[other])["CampaignCompleted"], "the campaign's end")
        records = region.facts()

    kinds = Counter(record["fact"] for record in records)
    events = Counter((record["fact"], record["subject"]) for record in records if record["fact"] in _STEPS)
    assert campaign["id"]
    assert (kinds["CampaignStarted"], kinds["CampaignWaveBegan"], kinds["CampaignCompleted"]) == (1, 3, 1)
    assert set(events.values()) == {1}
    assert kinds["ImpactBegan"] == kinds["EventStarted"] + kinds["EventBornStarted"]


_STEPS = ("EventScheduled", "EventBornStarted", "EventStarted", "ImpactBegan", "ImpactEnded", "EventCompleted")


def _kinds(node: ServerProgram) -> Counter[str]:
    return Counter(record["fact"] for record in node.json("journal", "tail", "--lines", "5000"))


# The end of a node


def test_what_a_node_was_asked_before_it_ended_is_answered(postgres: Server, tmp_path: Path) -> None:
    """A reader waits and a write is held up in the database when the signal comes; the other node leads on."""
    store = postgres.region()
    with nodes(store, tmp_path, names=("alpha", "beta")) as region, psycopg.connect(store) as holder:
        leader = region.leader()
        follower = region[next(name for name in region.running if name != leader)]
        region[leader].forewarn("vm", "create", "web")
        document = until(lambda: enabled(follower, "web"), "the VM at the follower")
        with (
            waiting_get(follower, "web", document["DocumentIncarnation"]) as reader,
            open_connection(follower.control) as slow,
            ThreadPoolExecutor(1) as pool,
        ):
            holder.execute("SELECT FROM head FOR UPDATE")
            writing = pool.submit(ask_on, slow, "POST", "/v1/vms", {"name": "slow"})
            until(lambda: _is_held_up(postgres), "a write that waits for the head")
            follower.process.send_signal(signal.SIGTERM)
            until(lambda: "Shutting down" in follower.log.read_text(), "the node to end")
            holder.rollback()
            written, read = writing.result(60), reader.getresponse()
            status = follower.process.wait(60)
        found = ask(region[leader].control, "GET", "/v1/vms/slow").status
        still = ready(region[leader])[1]["leads"]

    assert (written.status, written.headers["connection"], found) == (201, "close", 200)
    assert (read.status, read.headers["Preference-Applied"]) == (304, "wait=60")
    assert (status, still) == (0, True)


def _is_held_up(postgres: Server) -> bool:
    waiting = postgres.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return bool(waiting)


def test_a_second_signal_ends_a_node_that_drains(postgres: Server, tmp_path: Path) -> None:
    with nodes(postgres.region(), tmp_path, "--drain", "1h", names=("alpha",)) as region:
        alpha = region["alpha"]
        alpha.process.send_signal(signal.SIGTERM)
        until(lambda: ready(alpha)[0] == 503, "the node to say that it drains")
        served = alpha.forewarn("vm", "create", "web")
        status = alpha.stop()

    assert served.startswith("Created 1 VM")
    assert status == -signal.SIGTERM


# When the store fails


def test_a_node_without_its_store_says_so_until_it_is_back(postgres: Server, tmp_path: Path) -> None:
    with nodes(postgres.region(), tmp_path, "--staleness", "5s", names=("alpha",)) as region:
        alpha, trust = region["alpha"], tmp_path / "authority" / "ca.pem"
        alpha.forewarn("vm", "create", "web")
        bearer = log_in(alpha.resource_manager, trust)
        postgres.freeze()
        try:
            until(lambda: ready(alpha)[0] == 503, "the node to be stale")
            reasons = ready(alpha)[1]["reasons"]
            refused = ask(alpha.control, "GET", "/v1/vms")
            arm = ask(alpha.resource_manager, "GET", f"{GROUP}?{VERSION}", headers=bearer, trust=trust)
            live = ask(alpha.control, "GET", "/health/live").status
        finally:
            postgres.thaw()
        until(lambda: ready(alpha)[0] == 200, "the node to be current again")
        back = ask(alpha.control, "GET", "/v1/vms/web").status

    error = json.loads(refused.body)["error"]
    assert reasons == [error["message"]] == ["This node has not heard from its store for 5 s."]
    assert (refused.status, error["kind"], refused.headers["retry-after"]) == (503, "unavailable", "1")
    assert (arm.status, json.loads(arm.body)["error"]["code"]) == (503, "ServiceUnavailable")
    assert (live, back) == (200, 200)


def test_a_node_that_has_seen_what_its_store_has_lost_ends_with_a_sentence(postgres: Server, tmp_path: Path) -> None:
    """As after a failover to a standby that was behind."""
    store = postgres.region()
    with nodes(store, tmp_path, names=("alpha",)) as region:
        alpha = region["alpha"]
        _lose_the_last(store, lambda: alpha.forewarn("vm", "create", "lost"))
        status = alpha.process.wait(60)
        told = alpha.log.read_text().splitlines()[-1]
        again = region.start("alpha")
        found = ask(again.control, "GET", "/v1/vms/lost").status

    assert status == 1
    assert told.startswith("forewarn: ")
    assert "Traceback" not in alpha.log.read_text()
    assert found == 404


def _lose_the_last(store: str, write: Callable[[], object]) -> None:
    """Write something, and put back the tables as they were before."""
    tables = ("facts", "head")
    with psycopg.connect(store, autocommit=True) as connection:
        for table in tables:
            connection.execute(f"CREATE TEMP TABLE kept_{table} AS TABLE {table}")
        write()
        with connection.transaction():
            for table in reversed(tables):
                connection.execute(f"DELETE FROM {table}")
            for table in tables:
                connection.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")
