"""``forewarn demo``: a real server on a fast clock, a dozen VMs with readers in them, one story for each event type."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import NoReturn

from forewarn.cli.api.client import OperatorClient, Server
from forewarn.cli.demo.guest import Guest, StoryWentWrong
from forewarn.cli.demo.staying import STAY, invite, leave_something_open, somebody_looks, stay
from forewarn.cli.demo.stories import FLEET, STORIES, Narrator
from forewarn.cli.output import Output, filled
from forewarn.settings.errors import CommandFailed, Exit

_READY_SECONDS = 60.0  # ours: a start takes about a second, on a machine that runs tests on all cores much longer
_END_SECONDS = 20.0  # ours: then the server is killed; nothing in the demo drains
_ENDING = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
# The default ports of `forewarn serve`, so that the commands of the README work beside the demo
_USUAL_PORTS = (16925, 16926, 16927)


def run(arguments: argparse.Namespace) -> int:
    """Tell the stories; then stay until Ctrl-C, if the output is a terminal."""
    output = Output()
    with (
        _ended_by_signals(),
        tempfile.TemporaryDirectory(prefix="forewarn-demo-", ignore_cleanup_errors=True) as data,
        _server(data, arguments.speed) as (metadata, control),
    ):
        client = OperatorClient(Server(control))
        told = _tell(client, metadata, output, arguments.speed)
        if somebody_looks() and not arguments.no_wait:
            invite(output, metadata, control, leave_something_open(client))
            stay(STAY.total_seconds())
        else:
            output.prose(f"Its portal was at {control}/portal/. On a terminal it stays up, unless --no-wait.")
    return Exit.OK if told else Exit.FAILED


def _tell(client: OperatorClient, metadata: str, output: Output, speed: float) -> bool:
    output.line(f"A region of a dozen VMs; its clock runs {speed:g} times faster than yours.")
    names: list[str] = []
    for part in FLEET:
        names += client.create_vms(part)
    guests = {name: Guest(metadata, name) for name in names}
    teller = Narrator(client, guests, output)
    for guest in guests.values():
        guest.has_read()
    teller.tell(f"{len(names)} guests", "read their documents: that enables Scheduled Events for their scopes")
    went_well = 0
    for story in STORIES:
        teller.title(story.__doc__ or "")
        try:
            story(teller)
        except (StoryWentWrong, CommandFailed) as problem:
            output.line(output.paint(filled(f"✗ {problem}", output.width, "  ", "    "), "red"))
        else:
            went_well += 1
            output.line(output.paint("  ✓", "green"))
    for guest in guests.values():
        guest.close()
    output.line()
    output.line(f"{went_well} of {len(STORIES)} stories went as they should.")
    return went_well == len(STORIES)


@contextlib.contextmanager
def _server(data: str, speed: float) -> Iterator[tuple[str, str]]:
    """The program itself, as a user would start it, on the usual ports where they are free."""
    metadata, control, manager = _addresses()
    command = [sys.executable, "-m", "forewarn.cli.demo.server", data, "--clock", f"x{speed:g}"]
    command += ["--metadata", metadata, "--control", control, "--resource-manager", manager, "--log-level", "error"]
    # the settings of the user's own region are not the demo's
    plain = {name: value for name, value in os.environ.items() if not name.startswith("FOREWARN_")}
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True, env=plain
    )
    try:
        _wait_until_ready(process, OperatorClient(Server(f"http://{control}")))
        yield f"http://{metadata}", f"http://{control}"
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe, at which the server ends by itself; see ``cli.demo.server``."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A closed terminal and a polite request to end are heard as Ctrl-C is, so that everything is put away."""

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_until_ready(process: subprocess.Popen[bytes], client: OperatorClient) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(CommandFailed):
            client.ping()
            return
        time.sleep(0.05)
    raise CommandFailed("the demo's server did not start; its own words are above.")


def _addresses() -> tuple[str, ...]:
    """The usual ports where all are free, else some that are."""
    for ports in (_USUAL_PORTS, (0, 0, 0)):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            listeners = [stack.enter_context(socket.socket()) for _ in ports]
            for listener, port in zip(listeners, ports, strict=True):
                if sys.platform != "win32":  # where it means that two may have the port
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("127.0.0.1", port))
            return tuple(f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners)
    raise CommandFailed("no free port was found on 127.0.0.1.")
