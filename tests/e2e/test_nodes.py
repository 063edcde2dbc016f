"""Three nodes of one region: what one has written the others know, also behind a balancer; and what a node is told."""

from __future__ import annotations

import json
import stat
import subprocess
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.nodes import (
    GROUP,
    TOKEN,
    VERSION,
    Nodes,
    ask,
    ask_on,
    balancer,
    enabled,
    listed,
    log_in,
    nodes,
    open_connection,
    waiting_get,
)
from tests.e2e.program import ServerProgram, clean_environment, run
from tests.postgres import PASSWORD, Server
from tests.waiting import until

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
    vm = until(lambda: enabled(beta, "web"), "the VM to read at beta")
    with waiting_get(beta, "web", vm["DocumentIncarnation"]) as reader:
        event_id = alpha.json("vm", "restart", "web")["events"][0]["id"]
        news = json.loads(reader.getresponse().read())
    approved = until(lambda: gamma.approve("web", event_id).status == 200, "an approval at gamma")
    until(lambda: _of(region, event_id)["EventCompleted"], "the event to be over")

    assert [event["EventId"] for event in news["Events"]] == [event_id]
    assert approved
    found = _of(region, event_id)
    once = ("EventScheduled", "EventApproved", "EventStarted", "ImpactBegan", "ImpactEnded", "EventCompleted")
    assert {kind: found[kind] for kind in once} == dict.fromkeys(once, 1)


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
        asked = {node["name"] for _ in range(12) for node in listed(front) if node["this"]}

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


# What a node is told


def test_a_metadata_node_listens_for_guests_and_health_alone(postgres: Server, tmp_path: Path) -> None:
    store = postgres.region()
    with nodes(store, tmp_path, names=("alpha",)) as region:
        beta = region.start("beta", "--faces", "metadata", "--health", "127.0.7.2:0")
        region["alpha"].forewarn("vm", "create", "web")
        document = until(lambda: enabled(beta, "web"), "the VM at the metadata node")
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
