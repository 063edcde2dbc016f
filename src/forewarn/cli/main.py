"""The ``forewarn`` command: its parser from all the parts, dispatch, and how every failure becomes one sentence."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence

from forewarn import __version__
from forewarn.cli.output import Output, complain
from forewarn.cli.parsing import Handler, Parser, add_commands
from forewarn.settings.errors import EXIT_HELP, CommandFailed, Exit

_DESCRIPTION = """\
Azure Scheduled Events as software anyone can run.

'forewarn try' shows one event; 'forewarn mock' answers your program, 'forewarn run' your tests;
'forewarn serve' runs a region; the other commands talk to it."""

_EPILOG = """\
environment:
  FOREWARN_URL    where the server's control address is (default: http://127.0.0.1:16926)
  FOREWARN_TOKEN  the token of a server that wants one
  NO_COLOR        no colours, even on a terminal

exit status:
{statuses}

examples:
  forewarn try
  forewarn mock --type Preempt
  forewarn run -- npm test
  forewarn serve --ephemeral --clock virtual
  forewarn vm create web --count 3 --availability-set front --read
  forewarn vm restart web-0
  forewarn clock advance 15m"""


# What the scripts of ``forewarn completion`` call; words of any kind follow, so no parser reads them.
_COMPLETION = ["completion", "--words"]

# The modules of cli.commands and the commands that each declares, in the order in which help lists them.
_PARTS = {
    "trial": ("try",),
    "mock": ("mock",),
    "run": ("run",),
    "serve": ("serve", "demo", "settings"),
    "vms": ("vm",),
    "scale_sets": ("vmss",),
    "hosts": ("host",),
    "machines": ("machine",),
    "campaigns": ("campaign",),
    "events": ("event",),
    "clocks": ("forecast", "clock"),
    "scopes": ("scope",),
    "faults": ("fault",),
    "activity": ("activity",),
    "journal": ("journal",),
    "nodes": ("node", "token", "relay"),
    "stores": ("store", "backup", "restore"),
    "whole_fleet": ("fleet", "search"),
    "az_env": ("az-env",),
    "agent": ("agent",),
    "sim": ("sim",),
    "engines": ("engine",),
    "service": ("ping", "portal", "version", "completion"),
}


def build_parser(only: str = "") -> Parser:
    """The whole command line; or of it the part that declares one command, which is all that running this one needs."""
    statuses = "\n".join(f"  {status:<4} {text}" for status, text in EXIT_HELP.items())
    parser = Parser(prog="forewarn", description=_DESCRIPTION, epilog=_EPILOG.format(statuses=statuses))
    parser.add_argument("--version", action="version", version=f"forewarn {__version__}")
    subparsers = add_commands(parser, dest="command")
    for name in [name for name, commands in _PARTS.items() if only in commands] or _PARTS:
        part = importlib.import_module(f"forewarn.cli.commands.{name}")
        part.add_to(subparsers, *((build_parser,) if name == "service" else ()))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if list(words[:2]) == _COMPLETION:
        from forewarn.cli.completing import candidates  # only then: it speaks to a server

        print(*candidates(build_parser(), list(words[2:])), sep="\n")
        return Exit.OK
    try:
        args = build_parser(only=words[0] if words else "").parse_args(words)
    except SystemExit as end:  # argparse's way to end after --help and after a complaint
        return int(end.code or 0)
    try:
        status = _run(args)
        sys.stdout.flush()
    except OSError as problem:
        if not _reader_has_gone(problem):
            raise
        _forget_stdout()
        return Exit.PIPE_CLOSED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return status


def _run(args: argparse.Namespace) -> int:
    handler: Handler = args.handler
    try:
        return int(handler(args, Output(getattr(args, "json", False))))
    except CommandFailed as problem:
        complain(f"forewarn: {problem.message}")
        return problem.status


def _reader_has_gone(problem: OSError) -> bool:
    """Whether what we print was to go into a pipe that is closed, which Windows calls an invalid argument."""
    windows_says_so = sys.platform == "win32" and problem.errno == errno.EINVAL and problem.filename is None
    return isinstance(problem, BrokenPipeError) or windows_says_so


def _forget_stdout() -> None:
    """Point stdout to /dev/null after its reader has gone, so that the interpreter's last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
