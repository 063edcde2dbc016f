"""A whole server whose engine is another's program: over a Unix socket, and as a program that it starts itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forewarn.engines.remote.http_wire import HttpWire
from tests.e2e.program import ServerProgram
from tests.waiting import until

ENGINE = Path(__file__).parents[2] / "examples" / "engines" / "twin_engine.py"
MACHINES = ("--machine", "alpha/web-0", "--machine", "alpha/web-1")


@contextmanager
def _engine(socket: Path) -> Iterator[None]:
    """The reference engine, as its owner would start it."""
    socket.unlink(missing_ok=True)
    with subprocess.Popen([sys.executable, ENGINE, *MACHINES, "--unix", socket]) as process:
        try:
            until(socket.exists, "the engine's socket")
            yield
        finally:
            process.kill()


def _file(tmp_path: Path, way: str) -> Path:
    config = tmp_path / "region.toml"
    config.write_text(
        f"[machines]\nlocks = '{tmp_path}/locks'\nlisting_every = '1s'\nsilent_after = '2s'\ncall_timeout = '5s'\n"
        f"[[engine]]\nname = 'others'\nkind = 'remote'\nnode = 'here'\n{way}\n"
        "[[host]]\nname = 'alpha'\nengine = 'others'\nadded = true\n"
    )
    return config


def _health(server: ServerProgram) -> str:
    (host,) = server.json("host", "list")
    return str(host["health"])


def test_a_host_behind_a_socket_falls_silent_with_its_engine_and_comes_back_with_it(tmp_path: Path) -> None:
    socket = tmp_path / "engine.sock"
    config = _file(tmp_path, f"socket = '{socket}'")
    with ServerProgram.start(tmp_path / "data", "--config", config) as server:
        with _engine(socket):
            until(lambda: _health(server) not in ("silent", "unknown"), "the host answers")
            before = _health(server)
        until(lambda: _health(server) == "silent", "the host is called silent")
        with _engine(socket):
            until(lambda: _health(server) == before, "the host is back")


def test_an_event_restarts_a_machine_behind_a_socket_once_and_no_other(tmp_path: Path) -> None:
    socket = tmp_path / "engine.sock"
    config = _file(tmp_path, f"socket = '{socket}'")
    soon = ("--notice-user-restart", "1s", "--recovery-user-restart", "1s")
    with _engine(socket), ServerProgram.start(tmp_path / "data", "--config", config, *soon) as server:
        before = _marks(socket)
        assert set(before) == {"web-0", "web-1"}
        server.forewarn("machine", "adopt", "alpha/web-0", "--as", "web")
        server.forewarn("vm", "read", "web")  # who reads is told, and has the notice
        server.forewarn("vm", "restart", "web")
        until(lambda: _marks(socket)["web-0"] != before["web-0"], "the machine is restarted")
        until(lambda: not server.json("event", "list"), "the event is over")
        (event,) = server.json("event", "list", "--all")
        assert (event["type"], event["phase"]) == ("Reboot", "completed")
        after = _marks(socket)
        assert after["web-1"] == before["web-1"]
        until(lambda: server.json("machine", "list")["machines"][0]["boot_mark"] == after["web-0"], "it is seen")
        assert _marks(socket) == after


def _marks(socket: Path) -> dict[str, str]:
    """Asked of the engine itself, past the server."""
    answer = HttpWire(f"unix://{socket}").ask("GET", "/v1/hosts/alpha/machines", None, 20.0)
    return {each["ref"]: each["boot_mark"] for each in json.loads(answer.body)["machines"]}


def test_a_program_is_started_with_the_server_and_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    words = ["/bin/sh", "-c", f'echo $$ > {pid}; exec "$@"', "engine", sys.executable, str(ENGINE), *MACHINES]
    with ServerProgram.start(tmp_path / "data", "--config", _file(tmp_path, f"program = {words}")) as server:
        until(pid.exists, "the engine's program")
        started = int(until(pid.read_text, "its number"))
        assert _health(server) != "silent"
        assert Path(f"/proc/{started}").exists()
    until(lambda: not _runs(started), "the engine's program ends")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
