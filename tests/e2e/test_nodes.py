"""Three nodes of one region: what one has written the others know, what is done once is done once, and any of them may
go at any moment, behind a balancer that asks for their health."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from forewarn.core.specs import DEFAULT_RESOURCE_GROUP
from forewarn.web.documents.whereabouts import SUBSCRIPTION
from tests.e2e.nodes import (
    TOKEN,
    Balancer,
    Nodes,
    ask,
    ask_on,
    balancer,
    log_in,
    nodes,
    open_connection,
    ready,
)
from tests.e2e.program import EVENTS, ServerProgram, clean_environment, run
from tests.postgres import PASSWORD, Server
from tests.waiting import until

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{DEFAULT_RESOURCE_GROUP}"
VERSION = "api-version=2024-11-01"
FREE_PORTS = [word for face in ("metadata", "control", "resource-manager") for word in (f"--{face}", "127.0.0.1:0")]


@pytest.fixture(scope="module")
def region(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes for all tests that leave them alive."""
    with nodes(postgres.region(), tmp_path_factory.mktemp("region")) as opened:
        yield opened


# One region


def test_nodes_know_each_other_and_one_of_them_leads(region: Nodes) -> None:
    region.leader()
    found = until(lambda: _three(region["beta"].json("node", "list")), "three nodes")

    assert [node["name"] for node in found["nodes"]] == ["alpha", "beta", "gamma"]
    assert sum(node["leads"] for node in found["nodes"]) == 1
    assert [node["this"] for node in found["nodes"]] == [False, True, False]
    assert found["warnings"] == []


def _three(found: dict[str, Any]) -> dict[str, Any]:
    settled = len(found["nodes"]) == 3 and sum(node["leads"] for node in found["nodes"]) == 1
    return found if settled else {}


def test_what_one_node_has_answered_every_node_knows_at_once(region: Nodes) -> None:
    """Each VM is made through one node and asked for at the next, with nothing in between."""
    names = list(region.running)
    with (
        open_connection(region["alpha"].control) as alpha,
        open_connection(region["beta"].control) as beta,
        open_connection(region["gamma"].control) as gamma,
    ):
        connections = dict(zip(names, (alpha, beta, gamma), strict=True))
        for turn in range(60):
            here, there = names[turn % 3], names[(turn + 1) % 3]
            made = ask_on(connections[here], "POST", "/v1/vms", {"name": f"seen-{turn}"})
            found = ask_on(connections[there], "GET", f"/v1/vms/seen-{turn}")
            assert (made.status, found.status) == (201, 200), (turn, made, found)


def test_an_event_of_one_node_wakes_a_reader_at_another_and_is_approved_at_a_third(region: Nodes) -> None:
    alpha, beta, gamma = region["alpha"], region["beta"], region["gamma"]
    alpha.forewarn("vm", "create", "web")
    vm = until(lambda: _enabled(beta, "web"), "the VM to read at beta")
    with _waiting_get(beta, "web", vm["DocumentIncarnation"]) as reader:
        event_id = alpha.json("vm", "restart", "web")["events"][0]["id"]
        news = json.loads(reader.getresponse().read())
    approved = until(lambda: gamma.approve("web", event_id).status == 200, "an approval at gamma")
    until(lambda: _of(region, event_id)["EventCompleted"], "the event to be over")

    assert [event["EventId"] for event in news["Events"]] == [event_id]
    assert approved
    found = _of(region, event_id)
    once = ("EventScheduled", "EventApproved", "EventStarted", "ImpactBegan", "ImpactEnded", "EventCompleted")
    assert {kind: found[kind] for kind in once} == dict.fromkeys(once, 1)


def _enabled(node: ServerProgram, vm: str) -> dict[str, Any]:
    """Its document, once the node has heard of the VM."""
    answer = ask(node.metadata, "GET", f"/vm/{vm}{EVENTS}", headers={"Metadata": "true"})
    return answer.document if answer.status == 200 else {}


@contextmanager
def _waiting_get(node: ServerProgram, vm: str, incarnation: int) -> Iterator[HTTPConnection]:
    """A request for news that is with the node: what it was sent before on the same connection is answered."""
    reader = HTTPConnection(urlsplit(node.metadata).netloc, timeout=60)
    headers = {"Metadata": "true"}
    try:
        reader.request("GET", f"/vm/{vm}{EVENTS}", headers=headers)
        assert json.loads(reader.getresponse().read())["DocumentIncarnation"] == incarnation
        waiting = {**headers, "If-None-Match": f'"{incarnation}"', "Prefer": "wait=60"}
        reader.request("GET", f"/vm/{vm}{EVENTS}", headers=waiting)
        yield reader
    finally:
        reader.close()


def _of(region: Nodes, event_id: str) -> Counter[str]:
    """How often what has happened to an event."""
    node = next(node for node in region.running.values() if node.process.poll() is None)
    records = node.json("journal", "tail", "--about", event_id, "--lines", "1000")
    return Counter(record["fact"] for record in records)


def test_nodes_that_start_together_make_the_fleet_of_their_file_once(postgres: Server, tmp_path: Path) -> None:
    config = tmp_path / "region.toml"
    config.write_text('[[vm]]\nname = "web"\ncount = 50\navailability_set = "front"\n[[vm]]\nname = "db"\n')
    with nodes(postgres.region(), tmp_path, "--config", str(config)) as region:
        made = Counter(record["subject"] for record in region.facts("VmCreated"))

    assert len(made) == 51
    assert set(made.values()) == {1}


# Behind a balancer


def test_a_balancer_sends_requests_to_all_nodes_and_the_answers_are_one_regions(region: Nodes) -> None:
    with balancer(region) as front:
        for turn in range(12):
            assert front.ask("POST", "/v1/vms", {"name": f"balanced-{turn}"}).status == 201
            assert front.ask("GET", f"/v1/vms/balanced-{turn}").status == 200
        asked = {node["name"] for _ in range(12) for node in _listed(front) if node["this"]}

    assert asked == {"alpha", "beta", "gamma"}


def test_the_journal_streams_through_the_balancer_as_it_grows(region: Nodes) -> None:
    with balancer(region) as front, open_connection(front.control, front.trust) as connection:
        headers = {**front.named(front.control), "Authorization": f"Bearer {TOKEN}"}
        connection.request("GET", "/v1/journal/stream", headers=headers)
        stream = connection.getresponse()
        first = stream.readline()
        region["beta"].forewarn("vm", "create", "streamed")
        record = json.loads(next(line for line in stream if line.startswith(b"data: ")).removeprefix(b"data: "))

    assert first.startswith(b": the journal")
    assert "streamed" in json.dumps(record)


def _listed(front: Balancer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(front.ask("GET", "/v1/nodes").body)["nodes"]
    return found


def _draining(front: Balancer) -> list[str]:
    return [node["name"] for node in _listed(front) if node["draining"]]


@pytest.mark.parametrize("tls_ends_here", [False, True])
def test_an_operation_of_the_resource_manager_is_followed_through_the_balancer(
    region: Nodes, tls_ends_here: bool
) -> None:
    vm = f"arm-{tls_ends_here}".lower()
    place = f"{GROUP}/providers/Microsoft.Compute/virtualMachines/{vm}"
    region["alpha"].forewarn("vm", "create", vm)
    with balancer(region, tls_ends_here=tls_ends_here) as front:
        bearer = log_in(front.manager, front.trust)
        asked = front.manage(bearer, "POST", f"{place}/restart?{VERSION}")
        link = urlsplit(asked.headers["azure-asyncoperation"])
        target = f"{link.path}?{link.query}"
        until(lambda: b'"Succeeded"' in front.manage(bearer, "GET", target).body, "the operation's end")
        seen = {front.manage(bearer, "GET", f"{place}?{VERSION}").status for _ in range(6)}

    assert asked.status == 202
    assert f"{link.scheme}://{link.netloc}" == f"https://{front.named(front.manager)['Host']}"
    assert seen == {200}


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
                assert name not in [node["name"] for node in _listed(front)]
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
        until(lambda: _enabled(region[other], "web-0"), "a reader")
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
        document = until(lambda: _enabled(follower, "web"), "the VM at the follower")
        with (
            _waiting_get(follower, "web", document["DocumentIncarnation"]) as reader,
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


# What a node is told


def test_a_metadata_node_listens_for_guests_and_health_alone(postgres: Server, tmp_path: Path) -> None:
    store = postgres.region()
    with nodes(store, tmp_path, names=("alpha",)) as region:
        beta = region.start("beta", "--faces", "metadata", "--health", "127.0.7.2:0")
        region["alpha"].forewarn("vm", "create", "web")
        document = until(lambda: _enabled(beta, "web"), "the VM at the metadata node")
        refusals = {port: _refuses("127.0.7.2", port) for port in (region.control_port, region.manager_port)}
        health = ask(beta.health, "GET", "/health/ready")
        nothing_else = ask(beta.health, "GET", "/v1/vms")
        faces = {node["name"]: node["faces"] for node in region["alpha"].json("node", "list")["nodes"]}

    assert document["Events"] == []
    assert set(refusals.values()) == {True}
    assert (health.status, nothing_else.status) == (200, 404)
    assert faces["beta"] == ["metadata"]
    assert sorted(path.name for path in (tmp_path / "beta" / "tls").iterdir()) == ["ca-key.pem", "ca.pem"]


def _refuses(host: str, port: int) -> bool:
    try:
        HTTPConnection(host, port, timeout=60).connect()
    except ConnectionRefusedError:
        return True
    return False


def test_a_store_that_cannot_be_used_is_one_sentence_without_its_password(postgres: Server, tmp_path: Path) -> None:
    wrong = postgres.url(password="not-it-at-all")
    for store, sentence in ((wrong, "password authentication failed"), (postgres.url("nowhere"), "nowhere")):
        done = run("serve", "--data", tmp_path / "data", status=1, env=clean_environment(FOREWARN_STORE=store))
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1, done.stderr
        assert sentence in done.stderr
        assert "not-it-at-all" not in done.stderr
        assert PASSWORD not in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("place", [".", "tls"])
def test_a_node_keeps_its_certificates_where_nobody_else_can_replace_them(
    place: str, postgres: Server, tmp_path: Path
) -> None:
    """The journal is in the database, but whoever replaces these speaks for the node."""
    data, env = tmp_path / "data", clean_environment(FOREWARN_STORE=postgres.region())
    opened = data / place
    opened.mkdir(parents=True)
    opened.chmod(0o777)
    planted = opened / "ca-key.pem"
    planted.write_text("theirs")
    done = run("serve", "--data", data, *FREE_PORTS, status=1, env=env)

    assert f"Other users may write to the data directory {opened.resolve()} (mode 0777)" in done.stderr
    assert (planted.read_text(), stat.S_IMODE(opened.stat().st_mode)) == ("theirs", 0o777)

    planted.unlink()
    with ServerProgram.start(data, env=env) as node:
        log = node.log.read_text()
    assert "it is now for its owner only (mode 0700)" in log
    assert stat.S_IMODE(opened.stat().st_mode) == 0o700


def test_the_password_of_a_store_is_told_nowhere(region: Nodes) -> None:
    alpha = region["alpha"]
    told = (
        alpha.ready,
        alpha.log.read_text(),
        alpha.forewarn("settings", "--running"),
        alpha.forewarn("node", "list", "--json"),
        str(ask(alpha.control, "GET", "/v1/settings").body),
        subprocess.run(["ps", "-o", "args=", "-p", str(alpha.process.pid)], capture_output=True, text=True).stdout,
    )
    hidden = (PASSWORD, "pass-word", "of%3Athe", TOKEN)

    assert [secret for text in told for secret in hidden if secret in text] == []
    assert "store postgresql://postgres@127.0.0.1:" in alpha.ready


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
