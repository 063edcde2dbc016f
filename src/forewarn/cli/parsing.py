"""Building blocks of the command line: a parser whose complaints are one sentence, and help that shows an example."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from forewarn.cli.output import Output, complain
from forewarn.settings.errors import Exit, usage
from forewarn.settings.near import near_miss
from forewarn.settings.times import parse_duration, parse_instant, show_instant

if TYPE_CHECKING:
    from forewarn.cli.api.client import OperatorClient

Handler = Callable[[argparse.Namespace, Output], int]
T = TypeVar("T")
_CHOICES_SHOWN = 8  # ours: more than that are what --help is for


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Wraps prose to the terminal, and leaves alone what was laid out by hand: lists and examples."""

    def __init__(self, prog: str, width: int | None = None) -> None:
        super().__init__(prog, max_help_position=30, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return super()._fill_text(text, width, indent) if "\n" in text else textwrap.fill(text, width)


class Parser(argparse.ArgumentParser):
    """Complains in the same single line as every other failure, says where the help is, and guesses what was meant."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", Formatter)
        super().__init__(allow_abbrev=False, **options)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # -5m is a value that is not right, and no option

    def parse_known_args(  # type: ignore[override]  # argparse overloads it
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """The subcommand's parser itself refuses words that it does not know; argparse would let the topmost one do it,
        with the usage of the whole program."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._about_unknown(unknown[0]))
        return found, []

    def _about_unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"{word!r} is one argument too many"
        option = word.partition("=")[0]
        known = [each for each in self._option_string_actions if each.startswith("--")]
        return f"there is no option {option!r} here{near_miss(option, known)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(each) for each in action.choices]
        what = f"no command {value!r}" if isinstance(action, argparse._SubParsersAction) else f"no choice {value!r}"
        few = f"; choose from {', '.join(known)}" if len(known) <= _CHOICES_SHOWN else ""
        raise argparse.ArgumentError(_unnamed(action), f"there is {what} here{near_miss(str(value), known) or few}")

    def error(self, message: str) -> NoReturn:
        complain(f"forewarn: {message} (see '{self.prog} --help')")
        raise SystemExit(int(Exit.USAGE))


Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"


def _unnamed(action: argparse.Action) -> argparse.Action | None:
    """What a complaint is about: an option by its name; a command or an argument is told by its value already."""
    return action if action.option_strings else None


def add_group(subparsers: Subparsers, name: str, summary: str, description: str) -> Subparsers:
    """A family of commands, such as ``forewarn vm …``."""
    parser = subparsers.add_parser(name, help=summary, description=description)
    return add_commands(parser, dest=f"{name}_command")


def add_commands(parser: Parser, dest: str) -> Subparsers:
    """Room for commands beneath a parser, which by itself shows which there are."""

    def show_help(_args: argparse.Namespace, out: Output) -> int:
        out.line(parser.format_help().rstrip())
        return Exit.OK

    parser.set_defaults(handler=show_help)
    return parser.add_subparsers(title="commands", metavar="COMMAND", dest=dest)


def add_command(
    subparsers: Subparsers, name: str, handler: Handler, summary: str, description: str, *examples: str
) -> Parser:
    """One command. ``summary`` is its line in the list above it; ``description`` teaches; examples are to be copied."""
    lines = "".join(f"\n  {example}" for example in examples)
    epilog = f"example{'s' if len(examples) > 1 else ''}:{lines}" if examples else None
    parser = subparsers.add_parser(name, help=summary, description=description, epilog=epilog)
    parser.set_defaults(handler=handler)
    return parser


def add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for programs instead of text for people")


def add_ready(parser: Parser) -> None:
    parser.add_argument(
        "--ready",
        choices=("text", "json"),
        default="text",
        help="how to say that it answers: text for people, or one line of JSON for programs",
    )


def add_client_command(
    subparsers: Subparsers, name: str, handler: Handler, summary: str, description: str, *examples: str
) -> Parser:
    """A command that talks to a running server."""
    parser = add_command(subparsers, name, handler, summary, description, *examples)
    common = parser.add_argument_group("common options")
    common.add_argument("--url", help="the server's control address (default: FOREWARN_URL, or http://127.0.0.1:16926)")
    common.add_argument("--json", action="store_true", help="print JSON for programs instead of text for people")
    return parser


def add_dry_run(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only tell what would happen now; nothing is changed")


def client_of(args: argparse.Namespace) -> OperatorClient:
    """The client that a command's options ask for. What becomes a server has no use for one."""
    from forewarn.cli.api.client import OperatorClient, Server

    return OperatorClient(Server.find(args.url), getattr(args, "dry_run", False))


def _type(name: str, read: Callable[[str], T]) -> Callable[[str], T]:
    """Let argparse repeat the sentence of a reader instead of its own."""

    def convert(text: str) -> T:
        try:
            return read(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from None

    convert.__name__ = name
    return convert


def _read_count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _read_cursor(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise ValueError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def _read_share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found <= 1:
        raise ValueError(f"{text!r} is not a share above 0 and up to 1")
    return found


def _read_speed(text: str) -> float:
    try:
        found = float(text.removeprefix("x"))
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1_000_000:
        raise ValueError(f"{text!r} is not a speed; write x60 for an hour in a minute, 0 to stand still")
    return found


def _read_event_type(text: str) -> str:
    """Types are told with a capital, as documents have them; commands take them in any case."""
    return text.lower()


def _read_tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ValueError(f"{text!r} is not KEY=VALUE")
    return key, value


count = _type("count", _read_count)
cursor = _type("cursor", _read_cursor)
share = _type("share", _read_share)
speed = _type("speed", _read_speed)
tag = _type("tag", _read_tag)
event_type = _type("event_type", _read_event_type)
duration: Callable[[str], timedelta] = _type("duration", parse_duration)
instant: Callable[[str], datetime] = _type("instant", parse_instant)


def _read_when(text: str) -> datetime | timedelta:
    try:
        return parse_duration(text)
    except ValueError:
        pass
    try:
        return parse_instant(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a duration nor an instant; write 2h or 2030-01-31T12:00:00Z") from None


when: Callable[[str], datetime | timedelta] = _type("when", _read_when)


def add_span(parser: Parser, what: str) -> None:
    """From when to when, by the region's clock."""
    text = "so long ago (2h) or at this instant (2030-01-31T12:00:00Z), by the region's clock"
    parser.add_argument("--since", type=when, metavar="WHEN", help=f"{what} since {text}")
    parser.add_argument("--until", type=when, metavar="WHEN", help=f"{what} until then, written in the same way")


def span_of(args: argparse.Namespace, client: OperatorClient) -> tuple[str, str]:
    """The two ends as the API wants them; empty where nothing was said."""
    if args.since is None and args.until is None:
        return "", ""
    now = parse_instant(client.clock()["now"])
    return _instant_before(args.since, now), _instant_before(args.until, now)


def _instant_before(given: datetime | timedelta | None, now: datetime) -> str:
    if given is None:
        return ""
    return show_instant(now - given if isinstance(given, timedelta) else given)


def names_of(given: list[str]) -> list[str]:
    """Names as given, in order and once each; ``-`` stands for the lines of standard input."""
    names: dict[str, None] = {}
    for name in given:
        lines = (line.strip() for line in sys.stdin) if name == "-" else iter((name,))
        names.update((line, None) for line in lines if line)
    if not names:
        raise usage("standard input held no name.")
    return list(names)


def split_scope(text: str) -> tuple[str, str]:
    """A scope as its key is written: the kind, a slash, the name."""
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name:
        raise usage(f"{text!r} is not a scope; write KIND/NAME, such as availability-set/front or vm/web-0.")
    return kind, name
