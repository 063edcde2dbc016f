"""``forewarn serve``: the program itself, started, asked, ended."""

from __future__ import annotations

import signal
import socket
import subprocess
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn import __version__
from forewarn.cli.api.client import OperatorClient, Server
from forewarn.cli.demo import run as demo
from forewarn.plane.clock import wall_time
from forewarn.server import parts
from forewarn.settings.kinds import ClockChoice
from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, ServerProgram, clean_environment, without_limits

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run

ANY_PORTS = ["--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0", "--resource-manager", "127.0.0.1:0"]
FLEET = '[settings]\nclock = "virtual"\n[[vm]]\nname = "web"\ncount = 3\navailability_set = "front"\n'


def serving(directory: Path, *arguments: str) -> AbstractContextManager[ServerProgram]:
    """A server in a directory, with its data where it keeps them by itself."""
    return ServerProgram.start(directory / "forewarn-data", "--log-level", "warning", *arguments, cwd=directory)


def refused(directory: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [FOREWARN, "serve", *arguments],
        cwd=directory,
        env=clean_environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.slow
def test_a_server_says_that_it_is_ready_answers_and_ends_cleanly(run: Run, tmp_path: Path) -> None:
    (tmp_path / "region.toml").write_text(FLEET)

    with serving(tmp_path, "--config", "region.toml") as server:
        pong = run("ping", "--wait", "--url", server.control, "--json").json
        run("clock", "advance", "15m", "--url", server.control)
        second = refused(tmp_path, *ANY_PORTS)
        settings = run("settings", "--running", "--url", server.control, "--json").json
        before = run("clock", "show", "--url", server.control, "--json").json["now"]
        (node,) = run("node", "list", "--url", server.control, "--json").json["nodes"]
        status = server.stop()

    assert server.ready.startswith(f"forewarn {__version__} ready: metadata http://127.0.0.1:")
    assert server.ready.endswith("3 VMs, clock virtual, data ./forewarn-data\n")
    assert (pong["vms"], pong["clock"]["kind"]) == (3, "virtual")
    assert second[0] == 1
    assert second[1].startswith("forewarn: The data directory ")
    assert len(second[1].splitlines()) == 1
    assert next(each["source"] for each in settings if each["name"] == "clock") == "file"
    assert node["name"] == f"{socket.gethostname()}:{node['urls'][0].rpartition(':')[2]}"
    assert (node["faces"], node["leads"]) == (["metadata", "control", "resource-manager"], True)
    assert (status, without_limits(server.log.read_text())) == (0, "")

    with serving(tmp_path, "--config", "region.toml") as server:
        after = run("clock", "show", "--url", server.control, "--json").json["now"]
        status = server.stop(signal.SIGINT)

    assert "3 VMs" in server.ready
    assert after == before
    assert (status, without_limits(server.log.read_text())) == (0, "")


@pytest.mark.slow
def test_a_follower_does_not_keep_a_server_from_ending(run: Run, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        run("vm", "create", "db", "--url", server.control)
        host, port = server.control.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as follower:
            follower.sendall(b"GET /v1/journal/stream?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in follower.recv(4096)
            status = server.stop()

    assert (status, without_limits(server.log.read_text())) == (0, "")


@pytest.mark.slow
def test_a_server_does_not_start_where_it_should_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert refused(tmp_path, "--control", "0.0.0.0:16926")[0] == 2
    assert refused(tmp_path, "--metadata", "127.0.0.1:16926")[0] == 2
    status, sentence = refused(tmp_path, *ANY_PORTS, "--data", "file")
    assert status == 1
    assert sentence.startswith("forewarn: The data directory ")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_a_port_in_use_is_a_sentence_that_names_the_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for option in ("--metadata", "--control", "--resource-manager"):
            status, sentence = refused(tmp_path, *ANY_PORTS, option, address)

            assert status == 1
            assert f"cannot listen on {address}" in sentence
            assert f"choose another address with {option}." in sentence


@pytest.mark.slow
def test_a_fleet_that_the_region_refuses_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "region.toml").write_text("[[vm]]\nname = 'not a name!'\n")

    status, sentence = refused(tmp_path, *ANY_PORTS, "--config", "region.toml")

    assert status == 1
    assert "the region file's VM 'not a name!' was refused" in sentence


@pytest.mark.slow
def test_the_demo_has_nothing_to_do_with_the_users_own_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWARN_STORE", "postgresql://me:hush@127.0.0.1:1/forewarn")
    monkeypatch.setenv("FOREWARN_TOKEN", "sesame")

    with demo._server(str(tmp_path), 3600.0) as (_, control):
        pong = OperatorClient(Server(control)).ping()

    assert pong["clock"]["kind"] == "fast"


def test_a_turnable_clock_goes_on_where_the_journal_ends() -> None:
    past = datetime(2026, 1, 1, tzinfo=UTC)

    assert parts.local_clock(ClockChoice("virtual", 0.0), past).now() == past
    assert parts.local_clock(ClockChoice("fast", 60.0), past).now() < past + timedelta(days=1)
    assert parts.local_clock(ClockChoice("virtual", 0.0), None).now() <= wall_time()


def test_a_region_ahead_of_the_real_time_goes_on_from_there_on_a_real_clock() -> None:
    future = wall_time() + timedelta(days=400)

    clock = parts.local_clock(ClockChoice("real", 1.0), future)
    assert future <= clock.now() < clock.now() < future + timedelta(minutes=5)
