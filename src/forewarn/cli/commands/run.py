"""``forewarn run -- COMMAND``: a throw-away region around a command, for tests in any language."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from typing import Any

from forewarn.cli import parsing, throwaway
from forewarn.cli.commands.mock import add_clock, add_event
from forewarn.cli.output import Output, complain
from forewarn.cli.parsing import Subparsers
from forewarn.settings.errors import usage
from forewarn.settings.extras import import_part

_LOOK_SECONDS = 0.1  # between looks whether a signal has come for the command
_MOST_LINES = 200  # ours: of the timeline, the newest; a day of polling is still a screen or two, being folded
_NOT_FOUND, _NOT_RUNNABLE, _BY_SIGNAL = 127, 126, 128  # as shells have it


def add_to(subparsers: Subparsers) -> None:
    run = parsing.add_command(
        subparsers,
        "run",
        _run,
        "run a command with a region around it",
        "Start a throw-away region on free ports, run a command, and end with its exit status. The command finds the "
        "VM's metadata service in FOREWARN_ENDPOINT and the operator API in FOREWARN_URL, where it turns the clock and "
        "brings events about (docs/testing.md has this for Jest, Go, JUnit and xUnit). Where the command fails, the "
        "timeline tells what happened and what was asked.",
        "forewarn run -- npm test",
        "forewarn run --vm web-0 --vm web-1 -- go test ./...",
        "forewarn run --type Preempt --clock real -- ./my-worker --once",
    )
    run.usage = "forewarn run [--vm NAME]... [--clock real|xN|virtual] [--type TYPE] [--in DURATION] -- COMMAND..."
    run.add_argument(
        "--vm",
        action="append",
        metavar="NAME",
        help=f"a VM of the region, read once so that its events wait (default: {throwaway.VM}); FOREWARN_ENDPOINT is "
        "the first one's",
    )
    add_event(run, default=None)
    add_clock(run, "virtual")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND", help="what to run, after --")


def _run(args: argparse.Namespace, out: Output) -> int:
    argv = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if not argv:
        raise usage("there is no command to run; write it after --, as in: forewarn run -- npm test")
    if args.notice is not None and args.type is None:
        raise usage("--in says when the event of --type comes; give a --type too.")
    if args.type is not None and len(args.vm or ()) > 1:
        raise usage("--type is for a region of one VM; for more, bring events about from the command itself.")
    serving = import_part("forewarn.server.life", "forewarn run")
    around = _Around(args, argv)
    chosen = throwaway.settings(clock=args.clock, **throwaway.FREE, **around.notices)
    fleet = tuple(throwaway.vm_entry(name, around.event, read=around.event is None) for name in around.vms)
    serving.run(chosen, fleet, (), around.greet, onlooker=around.onlooker())
    return around.status


class _Around:
    """One command and its region."""

    def __init__(self, args: argparse.Namespace, argv: list[str]) -> None:
        self._argv = argv
        self.vms: list[str] = list(dict.fromkeys(args.vm or [throwaway.VM]))
        self.event: throwaway.OneEvent | None = None
        self.notices: dict[str, str] = {}
        if args.type is not None:
            self.event, self.notices = throwaway.with_notice(throwaway.EVENTS[args.type], args.notice)
        self.status = 1
        self._told = import_part("forewarn.testing.asked", "forewarn run").FoldedRequests(itertools.count(1).__next__)
        self._control = ""

    def onlooker(self) -> Any:
        seen = import_part("forewarn.web.seen", "forewarn run")
        return seen.LookingOn(self._told.note, self._first_read if self.event else None)

    async def _first_read(self, vm: str) -> None:
        assert self.event is not None
        with redirect_stdout(sys.stderr):  # standard output is the command's
            await asyncio.to_thread(throwaway.bring_about, self.event, vm, self._control, complain)

    def greet(self, server: Any) -> None:
        """In a thread: run the command, and end the server after it."""
        self._control = server.urls["control"]
        environment = {
            **os.environ,
            "FOREWARN_ENDPOINT": f"{server.urls['metadata']}/vm/{self.vms[0]}",
            "FOREWARN_URL": self._control,
        }
        environment.pop("FOREWARN_TOKEN", None)  # of another server
        try:
            self.status = _status_of(self._argv, environment, server.ending)
            if self.status not in (0, _NOT_FOUND, _NOT_RUNNABLE):
                self._tell(server.plane)
        finally:
            server.ending.ask()

    def _tell(self, plane: Any) -> None:
        timeline = import_part("forewarn.testing.timeline", "forewarn run")
        facts = timeline.facts_told(plane.journal.read(0, sys.maxsize))
        silent = self._told.silent((vm.name for vm in plane.region.vms.values()), plane.seq, plane.now())
        told = timeline.in_order(facts, self._told.moments([fact.seq for fact in facts]), silent)
        complain(f"forewarn: the command ended with status {self.status}; what happened in the region:")
        if len(told) > _MOST_LINES:
            complain(f"  ({len(told) - _MOST_LINES} earlier lines are left out)")
        complain(timeline.story(told[-_MOST_LINES:], plane.now()))


def _status_of(argv: list[str], environment: dict[str, str], ending: Any) -> int:
    try:
        process = subprocess.Popen(_findable(argv), env=environment)  # noqa: S603 - to run it is what was asked for
    except FileNotFoundError:
        complain(f"forewarn: there is no command {argv[0]!r}.")
        return _NOT_FOUND
    except OSError as problem:
        complain(f"forewarn: {argv[0]!r} cannot be run: {problem.strerror}.")
        return _NOT_RUNNABLE
    handed_on = False
    while True:
        try:
            status = process.wait(_LOOK_SECONDS)
            return status if status >= 0 else _BY_SIGNAL - status
        except subprocess.TimeoutExpired:
            if ending.signal and not handed_on:
                handed_on = True
                _hand_on(process, ending.signal)


def _findable(argv: list[str]) -> list[str]:
    """Windows itself finds no program that is a script, such as npm.cmd."""
    found = shutil.which(argv[0]) if sys.platform == "win32" else None
    return [found or argv[0], *argv[1:]]


def _hand_on(process: subprocess.Popen[bytes], number: int) -> None:
    """A terminal's Ctrl-C reaches the command by itself, as it reached us; on Windows that of any console."""
    from_console = number != signal.SIGTERM if sys.platform == "win32" else number == signal.SIGINT
    if not from_console or (sys.platform != "win32" and not sys.stdin.isatty()):
        process.send_signal(number)
