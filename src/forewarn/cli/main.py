"""The ``forewarn`` command: its parser from all the parts, dispatch, and how every failure becomes one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from forewarn import __version__
from forewarn.cli.commands import (
    activity,
    agent,
    az_env,
    campaigns,
    clocks,
    events,
    faults,
    hosts,
    journal,
    nodes,
    scale_sets,
    scopes,
    serve,
    service,
    sim,
    stores,
    trial,
    vms,
    whole_fleet,
)
from forewarn.cli.output import Output, complain
from forewarn.cli.parsing import Handler, Parser, add_commands
from forewarn.settings.errors import EXIT_HELP, CommandFailed, Exit

_DESCRIPTION = """\
Azure Scheduled Events as software anyone can run.

'forewarn try' shows one event; 'forewarn serve' runs a region; the other commands talk to it."""

_EPILOG = """\
environment:
  FOREWARN_URL    where the server's control address is (default: http://127.0.0.1:16926)
  FOREWARN_TOKEN  the token of a server that wants one
  NO_COLOR        no colours, even on a terminal

exit status:
{statuses}

examples:
  forewarn try
  forewarn serve --ephemeral --clock virtual
  forewarn vm create web --count 3 --availability-set front --read
  forewarn vm restart web-0
  forewarn clock advance 15m"""


def build_parser() -> Parser:
    """The whole command line."""
    statuses = "\n".join(f"  {status:<4} {text}" for status, text in EXIT_HELP.items())
    parser = Parser(prog="forewarn", description=_DESCRIPTION, epilog=_EPILOG.format(statuses=statuses))
    parser.add_argument("--version", action="version", version=f"forewarn {__version__}")
    subparsers = add_commands(parser, dest="command")
    trial.add_to(subparsers)
    serve.add_to(subparsers)
    for part in (
        vms,
        scale_sets,
        hosts,
        campaigns,
        events,
        clocks,
        scopes,
        faults,
        activity,
        journal,
        nodes,
        stores,
        whole_fleet,
        az_env,
    ):
        part.add_to(subparsers)
    agent.add_to(subparsers)
    sim.add_to(subparsers)
    service.add_to(subparsers, build_parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    try:
        args = build_parser().parse_args(arguments)
    except SystemExit as end:  # argparse's way to end after --help and after a complaint
        return int(end.code or 0)
    try:
        status = _run(args)
        sys.stdout.flush()
    except BrokenPipeError:
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


def _forget_stdout() -> None:
    """Point stdout to /dev/null after its reader has gone, so that the interpreter's last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
