"""The command line and the settings as Markdown, so that the documentation is made from the program itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from forewarn.cli.main import build_parser
from forewarn.cli.parsing import Formatter, Parser
from forewarn.settings.table import PROFILES, SETTINGS

_WIDTH = 100


def settings_markdown() -> str:
    """Every setting: its key, flag, variable, default, and what it is."""
    lines = ["| key | flag | environment | default | what it is |", "|---|---|---|---|---|"]
    for setting in SETTINGS.values():
        kind = setting.kind.metavar.replace("|", "\\|")
        default = f"`{setting.default}`" if setting.default else ""
        flag = f"`{setting.flag} {kind}`"
        lines.append(f"| `{setting.name}` | {flag} | `{setting.variable}` | {default} | {setting.help} |")
    lines += ["", "| profile | sets |", "|---|---|"]
    for name, values in PROFILES.items():
        lines.append(f"| `{name}` | {', '.join(f'`{key} = {value}`' for key, value in values.items()) or 'nothing'} |")
    return "\n".join(lines)


def cli_markdown() -> str:
    """The help of every command under a heading of its own."""
    parts = []
    for parser in _walk(build_parser()):
        parser.formatter_class = _Steady
        parts.append(f"### `{parser.prog}`\n\n```text\n{parser.format_help().rstrip()}\n```")
    return "\n\n".join(parts)


class _Steady(Formatter):
    """Help of one width, whatever the terminal of whoever makes the documentation."""

    def __init__(self, prog: str, width: int | None = _WIDTH) -> None:
        super().__init__(prog, width)


def _walk(parser: Parser) -> Iterator[Parser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _walk(child)
