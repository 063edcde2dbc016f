"""Nobody at a terminal, and no line of cron, waits long for a service that does not answer or for others to approve."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forewarn.core.causes import Cause
from forewarn.core.commands import MaintainHosts
from forewarn.core.facts import EventApproved
from forewarn.core.rules import Rules
from tests.e2e.agents import AgentProgram, Wire, agents, step, toml, watch
from tests.e2e.metadata_region import metadata_region
from tests.e2e.program import FOREWARN, clean_environment, run
from tests.e2e.test_netns import Realm
from tests.ports import free_port

NO_DOCUMENT = 3
# A program that had waited as 0.1 did, for three minutes, is ended by the harness long before.


@contextmanager
def closed_port() -> Iterator[int]:
    yield free_port()


@contextmanager
def black_hole() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]


@pytest.fixture(params=[closed_port, black_hole], ids=["closed port", "black hole"])
def dead(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a service that does not answer."""
    with request.param() as port:
        yield f"127.0.0.1:{port}"


def _file(tmp_path: Path, endpoint: str, extra: str = "") -> Path:
    config = tmp_path / "agent.toml"
    config.write_text(toml(endpoint, tmp_path, "", extra))
    return config


@pytest.mark.parametrize("named", [False, True])
def test_a_single_look_at_a_dead_service_ends_within_its_patience(tmp_path: Path, dead: str, named: bool) -> None:
    config = tmp_path / "agent.toml"
    config.write_text(toml(f"http://{dead}", tmp_path, "", name="web-0" if named else ""))
    done = run("agent", "run", "--once", "--patience", "1s", "--config", config, status=NO_DOCUMENT)
    asked, *_, last = [line for line in done.stderr.splitlines() if "there are no steps" not in line]
    assert f"asking http://{dead}" in asked
    assert "no document within 1 s" in last


def test_explaining_a_dead_service_says_whom_it_asks_and_gives_up(tmp_path: Path, dead: str) -> None:
    config = _file(tmp_path, f"http://{dead}")
    done = run("agent", "explain", "--patience", "1s", "--config", config, status=NO_DOCUMENT)
    assert f"asking http://{dead}" in done.stderr
    assert "no document within 1 s" in done.stderr
    assert "--patience" in done.stderr


def test_explaining_gives_up_soon_by_itself(tmp_path: Path, dead: str) -> None:
    done = run("agent", "explain", "--config", _file(tmp_path, f"http://{dead}"), status=NO_DOCUMENT)
    assert "no document within 5 s" in done.stderr


def test_the_status_of_a_dead_agent_says_whom_it_asks_and_gives_up(tmp_path: Path, dead: str) -> None:
    config = _file(tmp_path, "http://127.0.0.1:1", f'status_listen = "{dead}"')
    done = run("agent", "status", "--patience", "1s", "--config", config, status=3)
    assert f"asking the agent at {dead}" in done.stderr
    assert "not known" in done.stdout


def test_a_single_look_where_nobody_is_at_azures_address_and_dhcp_is_silent_ends_too(tmp_path: Path) -> None:
    config = tmp_path / "agent.toml"
    config.write_text(toml("", tmp_path, ""))
    with Realm.made() as realm:
        realm.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "other")
        realm.run("ip", "address", "add", "169.254.1.1/16", "dev", "eth0")
        realm.run("ip", "link", "set", "other", "up")
        realm.run("ip", "link", "set", "eth0", "up")
        words = ("agent", "run", "--once", "--patience", "1s", "--config", config)
        done = subprocess.run(
            [*realm.wrapper, FOREWARN, *words],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == NO_DOCUMENT, done.stderr
    assert "asking http://169.254.169.254, then the address that DHCP tells" in done.stderr
    assert "no document within 1 s" in done.stderr


@pytest.mark.parametrize("words", [["--patience", "1s"], ["--once", "--patience", "0s"], ["--once", "--patience", "x"]])
def test_a_patience_that_means_nothing_is_refused(tmp_path: Path, words: list[str]) -> None:
    run("agent", "run", *words, "--config", _file(tmp_path, "http://127.0.0.1:1"), status=2)
    assert not (tmp_path / "state").exists()


def _co_tenant(tmp_path: Path, port: int, wire: Wire) -> AgentProgram:
    directory = tmp_path / "web-0"
    directory.mkdir()
    config = directory / "agent.toml"
    steps = '[[rule]]\nname = "all"\nverdict = "prepare-then-approve"\n' + step(wire, "web-0", "a")
    config.write_text(toml(f"http://127.0.0.1:{port}/vm/web-0", directory, steps))
    return AgentProgram(directory, config)


def test_looks_while_others_are_awaited_approve_once_without_a_warning_and_end(tmp_path: Path) -> None:
    wire = Wire(tmp_path / "wire")
    with metadata_region(rules=Rules(update_domains=1, fault_domains=1)) as region:
        for vm in ("web-0", "db-0"):
            region.create(vm)
            region.get(vm)
        facts, agent = watch(region), _co_tenant(tmp_path, region.face.port, wire)
        region.submit(MaintainHosts((), Cause.REBOOT, "seed"))
        with agents(agent):
            for _ in range(3):  # as a line of cron would
                agent.start("never", 0, "--once")
                assert agent.wait() == 0
        log = agent.log.read_text()
    wire.close()
    assert [fact.by for fact in facts.facts if isinstance(fact, EventApproved)] == ["web-0"]
    assert log.count("approving") == 1
    assert "warning" not in log
    assert "error" not in log


def test_a_look_whose_step_fails_ends_and_says_so(tmp_path: Path) -> None:
    wire = Wire(tmp_path / "wire")
    with metadata_region() as region:
        region.create("web-0")
        region.get("web-0")
        config = tmp_path / "agent.toml"
        steps = '[[rule]]\nname = "all"\nverdict = "prepare-then-approve"\n' + step(wire, "web-0", "a", status=7)
        config.write_text(toml(f"http://127.0.0.1:{region.face.port}/vm/web-0", tmp_path, steps))
        facts = watch(region)
        region.restart("web-0")
        done = run("agent", "run", "--once", "--patience", "2s", "--config", config, status=1)
    wire.close()
    assert "status 7" in done.stderr
    assert facts.approvals == []
