"""``examples/compose``, started by podman-compose: a program that knows Azure's address alone reads and approves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from tests.e2e.program import FOREWARN, ROOT
from tests.platforms.docker.daemons import Daemon
from tests.platforms.packages.built import BASE, LIMITS, NAME, TOOLS, run
from tests.waiting import until

_PROGRAM = ROOT / "examples" / "clients" / "scheduled_events.py"
_TOKEN = "of-this-test"
_NETWORK = "compose_metadata"

pytestmark = pytest.mark.timeout(1800)
Compose = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def compose(engine: Daemon, tmp_path: Path) -> Iterator[Compose]:
    """podman-compose with the podman of the test: the file stays as it is."""
    podman = tmp_path / "podman"
    podman.write_text(f'#!/bin/sh\nexec {" ".join(engine.client())} "$@"\n')
    podman.chmod(0o755)
    words: list[str | Path] = [TOOLS / "podman-compose", "--podman-path", podman, "--podman-run-args", " ".join(LIMITS)]
    where = ROOT / "examples" / "compose"

    def do(*command: str, status: int | None = 0, token: str = _TOKEN) -> CompletedProcess[str]:
        variables = {"FOREWARN_IMAGE": NAME, "CLIENT_IMAGE": BASE, **({"FOREWARN_TOKEN": token} if token else {})}
        return run([*words, *command], status=status, where=where, **variables)

    yield do
    do("down", "--volumes", status=None)
    engine.socket.ask("DELETE", f"/networks/{_NETWORK}")


def _log(engine: Daemon) -> str:
    return run([*engine.client(), "logs", "compose_web-0_1"]).stdout


def _forewarn(engine: Daemon, *words: str) -> str:
    """An operator on the machine, at the one port that is published."""
    return run([*engine.inside, FOREWARN, *words], FOREWARN_TOKEN=_TOKEN).stdout


def _another(engine: Daemon, address: str, *variables: str) -> CompletedProcess[str]:
    """The same program in a container beside, at an address of its own."""
    place = ("--network", _NETWORK, "--ip", address, "--cap-drop", "NET_RAW", "--volume", f"{_PROGRAM}:/program.py:ro")
    given = [word for each in variables for word in ("--env", each)]
    command = [*engine.client(), "run", "--rm", *LIMITS, *place, *given, BASE, "python3", "/program.py"]
    return run(command, status=None)


def test_a_program_that_knows_one_address_reads_and_approves(engine: Daemon, compose: Compose) -> None:
    compose("up", "--detach")
    until(lambda: _asked(engine) == "200", "the region is there", lambda: _asked(engine))
    until(lambda: "vm/web-0" in _forewarn(engine, "scope", "list"), "it reads")

    _forewarn(engine, "vm", "restart", "web-0")
    until(lambda: "\tReboot\tScheduled\tweb-0\t" in _log(engine), "it is warned", lambda: _log(engine))
    event_id = next(line.split("\t")[0] for line in _log(engine).splitlines() if "\tReboot\t" in line)

    compose("down")
    compose("up", "--detach")
    until(lambda: f"{event_id}\tReboot\tScheduled" in _log(engine), "as before", lambda: _log(engine))
    run([*engine.client(), "exec", "compose_web-0_1", "python3", "/scheduled_events.py", "approve", event_id])
    (event,) = json.loads(_forewarn(engine, "event", "list", "--all", "--json"))

    assert (event["id"], event["approved_by"]) == (event_id, "web-0")


def test_nobody_else_is_web_0_and_nothing_else_is_published(engine: Daemon, compose: Compose) -> None:
    compose("up", "--detach")
    until(lambda: _asked(engine) == "200", "the region is there", lambda: _asked(engine))

    at_its_address = _another(engine, "169.254.169.11")
    by_its_name = _another(engine, "169.254.169.11", "SCHEDULED_EVENTS_URL=http://169.254.169.254/vm/web-0")
    client = json.loads(run([*engine.client(), "inspect", "compose_web-0_1"]).stdout)[0]
    region = json.loads(run([*engine.client(), "inspect", "compose_region_1"]).stdout)[0]

    assert "The service answered 404" in at_its_address.stderr
    assert "The service answered 404" in by_its_name.stderr
    assert not client["NetworkSettings"]["Ports"]
    assert "CAP_NET_RAW" not in client["EffectiveCaps"]
    # podman leaves that one off by itself, and others do not: the file has to
    wanted = yaml.safe_load((ROOT / "examples" / "compose" / "compose.yaml").read_text())["services"]
    assert wanted["web-0"]["cap_drop"] == ["NET_RAW"]
    assert not region["EffectiveCaps"]
    published = {port: at for port, at in region["NetworkSettings"]["Ports"].items() if at}
    assert published == {"16926/tcp": [{"HostIp": "127.0.0.1", "HostPort": "16926"}]}


def test_without_a_token_nothing_is_started_and_it_says_why(compose: Compose) -> None:
    refused = compose("up", "--detach", status=None, token="")

    assert refused.returncode != 0
    assert "choose a secret for operators" in refused.stdout + refused.stderr


def _asked(engine: Daemon) -> str:
    """The status of the control port, as it is published."""
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {_TOKEN}"]
    return run([*engine.inside, *words, "http://127.0.0.1:16926/v1/ping"], status=None).stdout
