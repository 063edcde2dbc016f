"""``forewarn mock``: a region for a program, whose first GET shows an event; and what a throw-away region is told.

``forewarn try`` teaches: it types the commands, its clock stands still, and it shows the document by itself. ``mock``
is for a program that asks: time is real, the event begins with the program's first read, and every request is told.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from typing import Any

from forewarn.cli import parsing, throwaway
from forewarn.cli.demo import typed
from forewarn.cli.output import Output
from forewarn.cli.parsing import Parser, Subparsers
from forewarn.settings.extras import import_part
from forewarn.settings.kinds import CLOCK
from forewarn.settings.times import show_duration


def add_to(subparsers: Subparsers) -> None:
    mock = parsing.add_command(
        subparsers,
        "mock",
        _mock,
        "answer a program: its first GET shows an event",
        "Run a throw-away region with one VM. The first GET of its document schedules an event and shows it, so that "
        "NotBefore is as far ahead as it would be on Azure. Every request is told with what was made of it, and every "
        "change of the event. Ctrl-C ends it; nothing is kept. ('forewarn try' teaches the same step by step.)",
        "forewarn mock",
        "forewarn mock --type Preempt",
        "forewarn mock --type Reboot --in 2m --vm db-1",
        "forewarn mock --clock x60",
    )
    mock.add_argument("--vm", default=throwaway.VM, metavar="NAME", help=f"of the VM (default: {throwaway.VM})")
    add_event(mock, default="reboot")
    add_clock(mock, "real")
    parsing.add_ready(mock)


def add_event(parser: Parser, default: str | None) -> None:
    what = "of the event" if default else "of an event that the program's first GET shows (default: none)"
    shown = f"{what} (default: {default.capitalize()})" if default else what
    parser.add_argument(
        "--type",
        type=parsing.event_type,
        choices=tuple(throwaway.EVENTS),
        default=default,
        metavar="TYPE",
        help=f"{shown}: {', '.join(each.capitalize() for each in throwaway.EVENTS)}",
    )
    parser.add_argument(
        "--in",
        dest="notice",
        type=parsing.duration,
        metavar="DURATION",
        help="how far ahead NotBefore is at the first GET (default: as on Azure, such as 15m for a Reboot)",
    )


def add_clock(parser: Parser, default: str) -> None:
    parser.add_argument("--clock", default=default, metavar=CLOCK.metavar, help=f"of the region (default: {default})")


def _mock(args: argparse.Namespace, out: Output) -> int:
    """Serve until Ctrl-C."""
    serving = import_part("forewarn.server.life", "forewarn mock")
    event, notices = throwaway.with_notice(throwaway.EVENTS[args.type], args.notice)
    telling = import_part("forewarn.cli.looking_on", "forewarn mock").LiveTelling(out)
    control: list[str] = []

    async def first_read(vm: str) -> None:
        await asyncio.to_thread(throwaway.bring_about, event, vm, control[0], lambda text: out.line(text, at_once=True))

    def greet(server: Any) -> None:
        control.append(server.urls["control"])
        server.ending.loop.call_soon_threadsafe(telling.follow, server.plane)
        if args.ready == "json":
            out.json_line(serving.ready_fields(throwaway.settings(clock=args.clock), server))
            return
        for line in _what_to_type(server.urls, args):
            out.line(line, at_once=True)

    seen = import_part("forewarn.web.seen", "forewarn mock")
    fleet = (throwaway.vm_entry(args.vm, event, read=False),)
    return throwaway.serve(
        serving, {"clock": args.clock, **notices}, fleet, greet, seen.LookingOn(telling.seen, first_read)
    )


def _what_to_type(urls: dict[str, str], args: argparse.Namespace) -> Iterator[str]:
    endpoint = f"{urls['metadata']}/vm/{args.vm}"
    when = f" in {show_duration(args.notice)}" if args.notice else ""
    yield f"A throw-away region for {args.vm}. Its first GET shows a {args.type.capitalize()}{when}:"
    yield f"  {typed.reading(endpoint)}"
    yield "Approve it with the EventId that you see (the answer is empty), or wait for NotBefore:"
    yield from (f"  {line}" for line in typed.approving(endpoint, '{"StartRequests":[{"EventId":"<id>"}]}'))
    yield "A program that uses forewarn's library or agent, and the forewarn command:"
    yield f"  {typed.setting(FOREWARN_ENDPOINT=endpoint, FOREWARN_URL=urls['control'])}"
    yield "Every request is told below. Ctrl-C ends this region; nothing is kept."
