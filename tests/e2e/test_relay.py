"""A relay as a process of its own, with a real server upstream: killed, restarted, replaced, rolled back, frozen."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.nodes import nodes
from tests.e2e.program import EVENTS, FOREWARN, PATIENCE_SECONDS, Answer, ServerProgram, ask, clean_environment
from tests.figures import figures
from tests.ports import free_port
from tests.postgres import Server
from tests.waiting import until

TOKEN = "sesame"
_READY = re.compile(r"relay ready: metadata (?P<url>\S+), (?P<vms>\d+) VMs?, upstream (?P<upstream>\S+)")


@dataclass
class RelayProgram:
    """A running ``forewarn relay``."""

    process: subprocess.Popen[str]
    log: Path
    url: str = ""
    ready: str = ""

    def get(self, vm: str, headers: Mapping[str, str] | None = None) -> Answer:
        return ask(self.url, f"/vm/{vm}{EVENTS}", {"Metadata": "true", **(headers or {})})

    def approve(self, vm: str, event_id: str) -> Answer:
        body = json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()
        return ask(self.url, f"/vm/{vm}{EVENTS}", verb="POST", body=body)


@contextmanager
def relay(
    directory: Path, *options: str, token: str = "", name: str = "relay", port: int = 0, wrapper: Sequence[str] = ()
) -> Iterator[RelayProgram]:
    """Relay until the block ends. ``wrapper`` is a command that runs ours, such as one that enters a namespace."""
    log = directory / f"{name}.log"
    env = clean_environment(**({"FOREWARN_TOKEN": token} if token else {}))
    with log.open("a") as errors:
        process = subprocess.Popen(
            [*wrapper, FOREWARN, "relay", "--metadata", f"127.0.0.1:{port}", *options],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = _READY.search(line)
        assert found, f"{line!r}\n{log.read_text()}"
        yield RelayProgram(process, log, found["url"], line)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_SECONDS)
        process.stdout.close()


@contextmanager
def server(data: Path, port: int, *options: str) -> Iterator[ServerProgram]:
    """One whose control address stays the same over restarts."""
    places = ("--control", f"127.0.0.1:{port}", "--resource-manager", "off", *options)
    with ServerProgram.start(data, *places, env=clean_environment(FOREWARN_TOKEN=TOKEN)) as found:
        yield found


def followed(found: ServerProgram) -> float:
    """How many relays follow it, by its figures."""
    answer = ask(found.control, "/metrics", {"Authorization": f"Bearer {TOKEN}"})
    return figures(answer.body.decode())[("forewarn_relays",)]


def made_token(found: ServerProgram, *options: str) -> str:
    return found.forewarn("token", "create", "a-relay", "--role", "relay", *options).strip()


def events_of(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer.document["Events"]
    return found


def test_a_relay_serves_its_vms_and_goes_on_after_its_upstream_was_killed(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with server(tmp_path / "region", port, "--staleness", "6s") as first:
        first.forewarn("vm", "create", "web", "--count", "3")
        token = made_token(first, "--vms", "web-0,web-1")
        with relay(tmp_path, "--upstream", url, token=token) as beside:
            assert (beside.get("web-0").status, beside.get("web-2").status) == (200, 404)
            assert followed(first) == 1
            first.forewarn("vm", "restart", "web-0")
            (event,) = until(lambda: events_of(beside.get("web-0")), "the event at the relay")
            known = beside.get("web-0")
            first.kill()
            assert beside.get("web-0").body == known.body  # what it knows, for as long as it may
            assert beside.approve("web-0", event["EventId"]).status == 503  # and nothing of this was kept
            until(lambda: beside.get("web-0").status == 503, "the end of what it may know")
            assert beside.get("web-1").status == 503
            with server(tmp_path / "region", port, "--staleness", "6s") as second:
                until(lambda: beside.get("web-0").status == 200, "the upstream back")
                assert beside.get("web-0").body == known.body
                assert beside.approve("web-0", event["EventId"]).status == 200
                assert [each["EventStatus"] for each in events_of(beside.get("web-0"))] == ["Started"]
                told = [json.loads(line) for line in second.forewarn("journal", "export").splitlines()]
                assert [each["fact"] for each in told].count("EventApproved") == 1
                assert beside.process.poll() is None


def test_a_relay_that_was_killed_begins_with_what_is_there(tmp_path: Path) -> None:
    port = free_port()
    with server(tmp_path / "region", port) as upstream:
        upstream.forewarn("vm", "create", "web", "--read")
        token = made_token(upstream, "--vms", "web")
        with relay(tmp_path, "--upstream", upstream.control, token=token) as first:
            before = first.get("web").document["DocumentIncarnation"]
            assert "1 relay follows this node." in upstream.forewarn("node", "list")
            first.process.kill()
        until(lambda: "relay" not in upstream.forewarn("node", "list"), "the node to be rid of it")
        upstream.forewarn("vm", "restart", "web")
        with relay(tmp_path, "--upstream", upstream.control, token=token) as second:
            document = second.get("web").document
            assert document["DocumentIncarnation"] == before + 1
            assert document == upstream.document("web")
            second.process.send_signal(signal.SIGTERM)
            assert second.process.wait(PATIENCE_SECONDS) == 0


def test_a_relay_ends_where_its_upstream_was_set_back_to_an_older_state(tmp_path: Path) -> None:
    port = free_port()
    data, older = tmp_path / "region", tmp_path / "older"
    with server(data, port) as first:
        first.forewarn("vm", "create", "web", "--read")
        token = made_token(first, "--vms", "web")
        assert first.stop() == 0
    shutil.copytree(data, older)
    with server(data, port) as second, relay(tmp_path, "--upstream", second.control, token=token) as beside:
        second.forewarn("vm", "restart", "web")
        until(lambda: events_of(beside.get("web")), "the event at the relay")
        second.kill()
        shutil.rmtree(data)
        shutil.copytree(older, data)
        with server(data, port) as third:
            third.forewarn("vm", "create", "other", "--count", "20")  # as many records as before, and more
            third.forewarn("vm", "redeploy", "web")
            assert beside.process.wait(PATIENCE_SECONDS) == 1
            assert "set back to an older state" in beside.log.read_text()
        assert "Traceback" not in beside.log.read_text()


def test_a_relay_does_not_start_without_an_upstream_or_with_a_token_for_something_else(tmp_path: Path) -> None:
    with server(tmp_path / "region", free_port()) as upstream:
        upstream.forewarn("vm", "create", "web")
        reader = upstream.forewarn("token", "create", "grafana", "--role", "read").strip()
        token = made_token(upstream, "--vms", "web")
        for given, options, why in (
            (reader, ("--vms", "web"), "it takes one to relay"),
            ("wrong", ("--vms", "web"), "Send the token"),
            (token, ("--vms", "web,db"), "not for the VM 'db'"),
            (token, ("--upstream", "http://127.0.0.1:1", "--vms", "db"), "not for the VM 'db'"),
            (TOKEN, (), "Say which VMs"),
        ):
            done = _started(given, "--upstream", upstream.control, *options)
            assert done.returncode == 1
            assert why in done.stderr
            assert "Traceback" not in done.stderr
    done = _started(token, "--upstream", upstream.control)
    assert done.returncode == 1
    assert "cannot be reached" in done.stderr


def _started(token: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [FOREWARN, "relay", "--metadata", "127.0.0.1:0", *options],
        env=clean_environment(FOREWARN_TOKEN=token),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


def test_a_relay_of_a_frozen_upstream_answers_no_longer_than_it_may(tmp_path: Path) -> None:
    """A process that is stopped holds its connections open: only the clock tells."""
    with server(tmp_path / "region", free_port(), "--staleness", "6s") as upstream:
        upstream.forewarn("vm", "create", "web", "--read")
        token = made_token(upstream, "--vms", "web")
        with relay(tmp_path, "--upstream", upstream.control, token=token) as beside:
            assert beside.get("web").status == 200
            upstream.process.send_signal(signal.SIGSTOP)
            try:
                until(lambda: beside.get("web").status == 503, "the end of what it may know")
            finally:
                upstream.process.send_signal(signal.SIGCONT)
            until(lambda: beside.get("web").status == 200, "the upstream back")


def test_a_revoked_token_ends_what_a_relay_may_tell(tmp_path: Path) -> None:
    with server(tmp_path / "region", free_port(), "--staleness", "4s") as upstream:
        upstream.forewarn("vm", "create", "web", "--read")
        token = made_token(upstream, "--vms", "web")
        with relay(tmp_path, "--upstream", upstream.control, token=token) as beside:
            assert beside.get("web").status == 200
            upstream.forewarn("token", "revoke", "a-relay")
            until(lambda: beside.get("web").status == 503, "the end of the token")


def test_a_vm_that_moves_to_another_host_moves_to_that_hosts_relay(tmp_path: Path) -> None:
    with server(tmp_path / "region", free_port(), "--vms-per-host", "1") as upstream:
        upstream.forewarn("vm", "create", "web", "--count", "2", "--read")
        here = upstream.json("vm", "show", "web-0")["host"]
        token = made_token(upstream, "--host", here)
        with relay(tmp_path, "--upstream", upstream.control, token=token) as beside:
            assert (beside.get("web-0").status, beside.get("web-1").status) == (200, 404)
            upstream.forewarn("vm", "deallocate", "web-0")
            until(lambda: beside.get("web-0").status == 404, "its leaving")


def test_a_relay_goes_to_another_node_and_never_back_in_time(postgres: Server, tmp_path: Path) -> None:
    with nodes(postgres.region(), tmp_path, names=("alpha", "beta")) as region:
        alpha, beta = region["alpha"], region["beta"]
        alpha.forewarn("vm", "create", "web", "--read")
        token = made_token(alpha, "--vms", "web")
        ways = ("--upstream", alpha.control, "--upstream", beta.control)
        with relay(tmp_path, *ways, token=token) as beside:
            told = [beside.get("web").document["DocumentIncarnation"]]
            beta.forewarn("vm", "restart", "web")
            until(lambda: events_of(beside.get("web")), "what was written at the other node")
            told.append(beside.get("web").document["DocumentIncarnation"])
            alpha.kill()
            (event,) = events_of(beside.get("web"))
            until(lambda: beside.approve("web", event["EventId"]).status == 200, "an approval by the other node")
            told.append(beside.get("web").document["DocumentIncarnation"])
            assert told == sorted(told)
            assert beta.document("web")["DocumentIncarnation"] >= told[-1]
