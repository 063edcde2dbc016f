"""``forewarn try`` and ``serve --ephemeral``: a region for trying out, of which nothing is left."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, ServerProgram, clean_environment

FREE = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0", "--resource-manager", "127.0.0.1:0")
TYPES = {"reboot": "Reboot", "freeze": "Freeze", "redeploy": "Redeploy", "preempt": "Preempt", "terminate": "Terminate"}
_LAST_LINE = "Ctrl-C ends this region; nothing is kept.\n"
_METADATA = re.compile(r"http://127\.0\.0\.1:\d+(?=/vm/)|(?<=metadata )http://[^,\s]+")


@pytest.fixture(autouse=True)
def usual_port_taken() -> Iterator[None]:
    """So that every trial takes ports of its own, and no other program of this machine means to talk to it."""
    with socket.socket() as taken, suppress(OSError):  # an error says that somebody else has it
        taken.bind(("127.0.0.1", 16925))
        taken.listen()
        yield
        return
    yield


@contextmanager
def running(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A server whose working directory and temporary directory is ``directory``."""
    process = subprocess.Popen(
        [FOREWARN, *arguments],
        env=clean_environment(TMPDIR=str(directory)),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


def told_by(process: subprocess.Popen[str], last: str) -> list[str]:
    """What it prints, to the line that begins with ``last``."""
    assert process.stdout is not None
    lines: list[str] = []
    while not (lines and lines[-1].startswith(last)):
        lines.append(process.stdout.readline())
        assert lines[-1], f"it ended after {lines}"
    return lines


def typed(command: str, directory: Path, environment: dict[str, str]) -> str:
    path = f"{FOREWARN.parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", command],
        env=environment | {"PATH": path, "no_proxy": "*"},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


def environment_of(lines: list[str]) -> dict[str, str]:
    """As a reader's terminal is after what the lines tell it to export."""
    exports = [line.removeprefix("$ export FOREWARN_URL=").strip() for line in lines if line.startswith("$ export ")]
    return clean_environment(**({"FOREWARN_URL": exports[0]} if exports else {}))


@pytest.mark.parametrize(("kind", "shown"), TYPES.items())
def test_a_trial_shows_a_document_with_its_event_and_what_it_tells_to_type_works(
    kind: str, shown: str, tmp_path: Path
) -> None:
    with running(tmp_path, "try", kind) as process:
        lines = told_by(process, _LAST_LINE)
        text = "".join(lines)
        environment = environment_of(lines)
        document = json.loads(text[text.index("\n{") : text.rindex("\n}") + 2])
        seeing = text[text.index("$ curl") + 2 : text.index("\n{")]
        approving = text[text.index("  curl -s -H") : text.index("or leave it alone")]

        assert [(event["EventType"], event["EventStatus"]) for event in document["Events"]] == [(shown, "Scheduled")]
        assert json.loads(typed(seeing, tmp_path, environment)) == document
        assert typed(approving, tmp_path, environment) == ""
        after = json.loads(typed(seeing, tmp_path, environment))
        assert [(event["EventType"], event["EventStatus"]) for event in after["Events"]] == [(shown, "Started")]
        story = re.search(r"forewarn event show \w+", text)
        assert story is not None
        assert "web-0" in typed(story[0], tmp_path, environment)
        assert f"{shown} impact" in typed("forewarn clock next", tmp_path, environment)
        assert max(map(len, lines)) <= 106  # of which ids take 36

        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_trial_left_alone_starts_its_event_when_the_clock_is_turned(tmp_path: Path) -> None:
    with running(tmp_path, "try") as process:
        environment = environment_of(told_by(process, _LAST_LINE))

        assert "web-0: 1 Reboot event started" in typed("forewarn clock next", tmp_path, environment)


def test_a_terminal_that_does_not_know_the_command_is_told_how(tmp_path: Path) -> None:
    """As from a clone: ``make try`` runs it by its path."""
    with running(tmp_path, "try") as process:
        lines = told_by(process, _LAST_LINE)
        first = lines.index("or leave it alone, and turn the clock to what happens then:\n") + 1
        typing = "".join(lines[first : first + 2])
        bare = environment_of(lines) | {"PATH": "/usr/bin:/bin"}
        done = subprocess.run(["bash", "-ec", typing], env=bare, capture_output=True, text=True, timeout=60)

    assert "web-0: 1 Reboot event started" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda how: how.name
)
@pytest.mark.parametrize("arguments", [("try",), ("serve", "--ephemeral", *FREE)], ids=["try", "serve"])
def test_whatever_signal_ends_it_nothing_is_left(
    arguments: tuple[str, ...], how: signal.Signals, tmp_path: Path
) -> None:
    with running(tmp_path, *arguments) as process:
        text = "".join(told_by(process, _LAST_LINE if arguments == ("try",) else "forewarn "))
        process.send_signal(how)
        process.wait(PATIENCE_SECONDS)

    found = _METADATA.search(text)
    assert found is not None
    parts = urlsplit(found[0])
    with pytest.raises(ConnectionRefusedError):
        HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS).connect()
    assert list(tmp_path.iterdir()) == []


def test_an_ephemeral_region_says_that_nothing_is_kept_and_serves_az_too(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "region", "--ephemeral", "--clock", "virtual", cwd=tmp_path) as server:
        server.forewarn("vm", "create", "web-0", "--read")
        server.forewarn("vm", "restart", "web-0")

        assert server.ready.endswith("clock virtual, in memory: nothing is kept\n")
        assert server.json("event", "list")[0]["type"] == "Reboot"
        authority = json.loads(typed(f"curl -s {server.control}/v1/resource-manager", tmp_path, server.environment()))
        (tmp_path / "ca.pem").write_text(authority["authority_pem"])
        asking = f"curl -s --cacert ca.pem {server.resource_manager}/metadata/endpoints?api-version=2022-09-01"
        told = typed(asking, tmp_path, server.environment())
        assert "resourceManager" in told


@pytest.mark.parametrize(
    ("arguments", "more", "named"),
    [
        (("--data", "here"), {}, "data (--data)"),
        (("--store", "postgresql://db.example/forewarn"), {}, "store (--store)"),
        ((), {"FOREWARN_DATA": "here"}, "data (FOREWARN_DATA)"),
    ],
)
def test_a_place_to_keep_it_and_ephemeral_are_refused_together(
    arguments: tuple[str, ...], more: dict[str, str], named: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [FOREWARN, "serve", "--ephemeral", *FREE, *arguments],
        env=clean_environment(**more),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"forewarn: an ephemeral region is kept nowhere, and {named} says where to keep it: leave off one of the two.\n"
    )
    assert list(tmp_path.iterdir()) == []
