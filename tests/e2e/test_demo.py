"""``forewarn demo`` leaves nothing behind, however it ends: no process, no directory, no port that is taken."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, clean_environment
from tests.waiting import until

pytestmark = pytest.mark.slow

ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


@contextmanager
def demo(home: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo that keeps its directory in ``home``; at x60 its stories last longer than any test."""
    process = subprocess.Popen(
        [FOREWARN, "demo", "--speed", "60"],
        env=clean_environment(TMPDIR=str(home), PYTHONUNBUFFERED="1"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture(autouse=True)
def usual_port_is_taken() -> Iterator[None]:
    """So that the demo takes ports that nobody else on this machine is after."""
    with socket.socket() as held:
        with suppress(OSError):
            held.bind(("127.0.0.1", 16926))
            held.listen()
        yield


def child_of(process: subprocess.Popen[str]) -> int:
    """The process that the demo has started; waits until there is one."""

    def look() -> int | None:
        assert process.poll() is None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        is_server = children and "--metadata" in Path(f"/proc/{children[0]}/cmdline").read_text()
        return int(children[0]) if is_server else None

    found = until(look, "the demo to start a server")
    assert found is not None
    return found


def addresses_of(child: int) -> list[tuple[str, int]]:
    """Where the server listens, as it was told to."""
    words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
    options = ("--metadata", "--control", "--resource-manager")
    given = [words[words.index(option) + 1].rpartition(":") for option in options]
    return [(host, int(port)) for host, _, port in given]


def ended(child: int) -> bool:
    """Whether a process that is not ours ends in time."""
    try:
        handle = os.pidfd_open(child)
    except ProcessLookupError:
        return True
    try:
        ready, _, _ = select.select([handle], [], [], PATIENCE_SECONDS)
        return bool(ready)
    finally:
        os.close(handle)


@pytest.mark.parametrize("how", ENDINGS, ids=lambda each: each.name)
@pytest.mark.parametrize("when", ["starting", "telling"])
def test_nothing_of_a_demo_outlives_it(tmp_path: Path, how: signal.Signals, when: str) -> None:
    with demo(tmp_path) as process:
        child = child_of(process)
        if when == "telling":
            assert process.stdout is not None
            assert "dozen" in process.stdout.readline()
        addresses = addresses_of(child)
        assert list(tmp_path.glob("forewarn-demo-*"))

        process.send_signal(how)
        process.communicate(timeout=PATIENCE_SECONDS)  # ends only when nobody holds its stderr any more

    assert process.returncode == (-how if how is signal.SIGKILL else 128 + how)
    assert ended(child)
    assert list(tmp_path.iterdir()) == []
    for address in addresses:
        with socket.create_server(address, reuse_port=False):
            pass


def test_a_demo_whose_server_is_killed_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        child = child_of(process)
        os.kill(child, signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 1
    assert "did not start" in err
    assert list(tmp_path.iterdir()) == []
