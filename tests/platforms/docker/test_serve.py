"""One evening with ``forewarn serve`` on a real engine: a container is adopted, restarted, made and removed by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import ServerProgram
from tests.platforms.docker.daemons import IMAGE, Daemon
from tests.waiting import until

PATIENCE_SECONDS = 120.0  # a command is a process, and the engine another one: both may wait for a core


@pytest.fixture
def daemon(request: pytest.FixtureRequest, kind: str) -> Iterator[Daemon]:
    """The engine of that kind, empty before and after."""
    found: Daemon = request.getfixturevalue(kind)[0]
    found.clear()
    yield found
    found.clear()


def _file(tmp_path: Path, daemon: Daemon) -> Path:
    config = tmp_path / "region.toml"
    config.write_text(
        f"""
[machines]
grace = "1s"
locks = "{tmp_path / "locks"}"
[[engine]]
name = "boxes"
kind = "docker"
node = "here"
[[host]]
name = "rack-1"
engine = "boxes"
socket = "{daemon.path}"
[[blueprint]]
name = "worker"
engine = "boxes"
image = "{IMAGE}"
command = ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"]
"""
    )
    return config


@pytest.mark.parametrize("kind", ["dockerd", "podman"])
def test_a_container_is_adopted_restarted_and_released_and_others_are_made(daemon: Daemon, tmp_path: Path) -> None:
    daemon.run("web-0")
    config = _file(tmp_path, daemon)

    def started() -> Any:
        found = daemon.inspect("web-0")
        assert found is not None
        return found["State"]["StartedAt"]

    with ServerProgram.start(tmp_path / "data", "--config", config) as server:
        server.forewarn("host", "add", "rack-1")
        assert "rack-1/web-0" in server.forewarn("machine", "list", "--unadopted")
        server.forewarn("machine", "adopt", "rack-1/web-0", "--dry-run")
        server.forewarn("machine", "adopt", "rack-1/web-0")
        before = started()
        server.forewarn("vm", "restart", "web-0")  # nobody reads, so it happens at once
        until(lambda: started() != before, patience_seconds=PATIENCE_SECONDS)
        shown = until(
            lambda: (vm := server.json("vm", "show", "web-0"))["boots"] == 2 and vm, patience_seconds=PATIENCE_SECONDS
        )
        assert shown["machine"]["power"] == "running"

        server.forewarn("vm", "create", "job", "--blueprint", "worker", "--host", "rack-1")
        until(lambda: server.json("vm", "show", "job")["power"] == "running", patience_seconds=PATIENCE_SECONDS)
        assert "job" in daemon.names()
        server.forewarn("vm", "stop", "job")
        until(lambda: server.json("vm", "show", "job")["power"] == "stopped", patience_seconds=PATIENCE_SECONDS)
        server.forewarn("vm", "delete", "job")
        until(lambda: "job" not in daemon.names(), patience_seconds=PATIENCE_SECONDS)
        server.process.terminate()
        assert server.process.wait(60) == 0
    assert daemon.names() == ["web-0"]
    last = started()
    with ServerProgram.start(tmp_path / "data", "--config", config) as server:
        assert server.json("machine", "list")["machines"][0]["vm"] == "web-0"
        server.forewarn("machine", "release", "web-0")
        assert server.json("vm", "list") == []
    assert started() == last
