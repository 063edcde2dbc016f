"""``forewarn demo`` leaves nothing behind, however it ends: no process, no directory, no port that is taken."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, clean_environment
from tests.terminals import at_terminal
from tests.waiting import until

pytestmark = pytest.mark.slow

STORIES = ("Reboot:", "Freeze:", "Redeploy:", "Preempt:", "Terminate:")
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


# At a terminal


def test_at_a_terminal_the_region_stays_up_with_something_to_click_until_enter(tmp_path: Path) -> None:
    with at_terminal([FOREWARN, "demo"], environment(tmp_path)) as terminal:
        for told in (*STORIES, "Enter or Ctrl-C ends it"):
            terminal.sees(told)
        (portal,) = re.findall(r"^The portal: (http://\S+/portal/)$", terminal.shown, re.MULTILINE)
        listed = json.loads(page(portal.replace("/portal/", "/v1/events")))["events"]
        (reboot,) = (event["id"] for event in listed if event["type"] == "Reboot")
        seen = [page(f"{portal}{path}") for path in ("events", f"events/{reboot}", "vms/web-1", "activity")]
        terminal.types("\n")
        status = terminal.ends()

    assert "5 of 5 stories went as they should." in terminal.shown
    assert {event["type"] for event in listed} == {"Reboot", "Freeze"}
    assert {event["phase"] for event in listed} == {"scheduled"}
    assert all("web-1" in text for text in seen)
    assert status == 0
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_shall_not_wait_ends_with_the_address_of_its_portal(tmp_path: Path) -> None:
    with at_terminal([FOREWARN, "demo", "--no-wait"], environment(tmp_path)) as terminal:
        for told in (*STORIES, "Its portal was"):
            terminal.sees(told)
        status = terminal.ends()

    assert status == 0
    assert re.search(r"Its portal was at http://127\.0\.0\.1:\d+/portal/", terminal.shown)
    assert "stays up for" not in terminal.shown


def environment(home: Path) -> dict[str, str]:
    """Of somebody at a terminal: a build service's mark is taken away."""
    return {name: value for name, value in clean_environment(TMPDIR=str(home)).items() if name != "CI"}


def page(url: str) -> str:
    with urlopen(url, timeout=PATIENCE_SECONDS) as answer:
        text: str = answer.read().decode()
        return text
