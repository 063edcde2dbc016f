"""The command line as man pages, made from its parser: forewarn(1), and one page for each command or group below it.

``python -m forewarn.cli.reference.man_pages DIRECTORY DATE`` writes them; ``make man`` does that.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from forewarn import __version__
from forewarn.cli.main import build_parser
from forewarn.cli.parsing import Parser
from forewarn.cli.reference.commands import children

_PARAGRAPH = re.compile(r"\n\s*\n")
_HEADING = re.compile(r"(?P<title>[\w ]+):\n(?P<body>.*)", re.DOTALL)
_ROW = re.compile(r" {2}(?P<word>\S+) {2,}(?P<text>.+)")


def pages(date: str) -> Iterator[tuple[str, str]]:
    """The name of each page's file, and its text. ``date`` is shown at its foot."""
    whole = build_parser()
    inside = [(name, told, parser) for name, told, parser in children(whole)]
    yield "forewarn.1", "\n".join(_page(whole, "Azure Scheduled Events as software anyone can run", date))
    for name, told, parser in inside:
        yield f"forewarn-{name}.1", "\n".join(_page(parser, told, date))


def _page(parser: Parser, told: str, date: str) -> Iterator[str]:
    name = parser.prog.replace(" ", "-")
    yield f'.TH {name.upper()} 1 "{date}" "forewarn {__version__}" "User Commands"'
    yield from (".nh", ".ad l", ".SH NAME", f"{name} \\- {_text(told)}")
    yield from (".SH SYNOPSIS", *_synopsis(parser))
    yield from (".SH DESCRIPTION", *_prose(parser.description or ""))
    yield from _options(parser, ".SH OPTIONS")
    yield from _commands(parser)
    yield from _epilog(parser)
    others = (
        [".BR forewarn (1)"]
        if name != "forewarn"
        else [f".BR forewarn\\-{each} (1)" for each, _, _ in children(parser)]
    )
    yield from (".SH SEE ALSO", *_joined(others))


def _commands(parser: Parser) -> Iterator[str]:
    """Those below: of the whole program a line for each, as each has a page; of a group everything."""
    inside = children(parser)
    if not inside:
        return
    yield ".SH COMMANDS"
    for name, told, child in inside:
        if parser.prog == "forewarn":
            yield from (".TP", f".BR forewarn\\-{_text(name)} (1)", _text(told))
            continue
        yield from (f'.SS "{_text(child.prog)}"', *_synopsis(child), ".PP", *_prose(child.description or ""))
        yield from _options(child, "")
        yield from _epilog(child, heading=".PP")


def _synopsis(parser: Parser) -> Iterator[str]:
    usage = parser.format_usage().removeprefix("usage: ")
    words = " ".join(usage.split()).removeprefix(parser.prog).strip()
    yield f'.B "{_text(parser.prog)}"'
    if words:
        yield _text(words)


def _options(parser: Parser, heading: str) -> Iterator[str]:
    shown = [each for each in parser._actions if each.help != argparse.SUPPRESS and not _is_command(each)]
    if not shown:
        return
    if heading:
        yield heading
    formatter = parser._get_formatter()
    for each in shown:
        title = formatter._format_action_invocation(each)
        text = " ".join(formatter._expand_help(each).split()) if each.help else ""
        yield from (".TP", f'.B "{_text(title)}"', _text(text))


def _is_command(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def _epilog(parser: Parser, heading: str = "") -> Iterator[str]:
    """What stands behind the options: tables by their words, everything else as it was laid out."""
    for part in _paragraphs(parser.epilog or ""):
        found = _HEADING.match(part)
        if not found:
            yield from (".PP", *_prose(part))
            continue
        title, body = found["title"], found["body"]
        yield from (heading, f"{title}:") if heading else (f'.SH "{_text(title.upper())}"',)
        rows = [_ROW.fullmatch(line) for line in body.splitlines()]
        if title in ("environment", "exit status") and all(rows):
            yield from (
                line for row in rows if row for line in (".TP", f'.B "{_text(row["word"])}"', _text(row["text"]))
            )
        else:
            laid_out = (_text(line.strip()) for line in body.splitlines())
            yield from (*([".sp"] if heading else []), ".nf", *laid_out, ".fi")


def _paragraphs(text: str) -> list[str]:
    return [part for part in _PARAGRAPH.split(text.strip()) if part.strip()]


def _prose(text: str) -> Iterator[str]:
    for number, part in enumerate(_paragraphs(text)):
        if number:
            yield ".PP"
        yield _text(" ".join(part.split()))


def _joined(lines: list[str]) -> Iterator[str]:
    """References with commas between."""
    for number, line in enumerate(lines, start=1):
        yield line if number == len(lines) else f"{line} ,".replace("(1) ,", "(1),")


def _text(text: str) -> str:
    """Text that troff takes literally: backslashes, hyphens that can be copied, and no line that reads as a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    escaped = escaped.replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    escaped = escaped.replace("…", "\\[u2026]").replace("→", "\\[u2192]")
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped


def main(directory: Path, date: str) -> int:
    """Write every page; how many there are."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("forewarn*.1"):
        old.unlink()
    written = 0
    for name, text in pages(date):
        (directory / name).write_text(text + "\n")
        written += 1
    return written


if __name__ == "__main__":
    print(f"{main(Path(sys.argv[1]), sys.argv[2])} man pages in {sys.argv[1]}")
