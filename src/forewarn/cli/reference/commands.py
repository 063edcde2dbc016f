"""The command line and the settings as Markdown, so that the documentation is made from the program itself."""

from __future__ import annotations

import argparse

from forewarn.cli.main import build_parser
from forewarn.cli.parsing import Formatter, Parser
from forewarn.settings.table import PROFILES, SETTINGS

_WIDTH = 100  # of docs/cli.md's blocks, which browsers show without scrolling


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
    """What holds for every command, two tables to find one by, and the help of each: a section for each group."""
    whole = build_parser()
    singles = [(name, told, parser) for name, told, parser in children(whole) if not children(parser)]
    groups = [(name, told, parser) for name, told, parser in children(whole) if children(parser)]
    lines = ["| group | what it is about | its commands |", "|---|---|---|"]
    for name, told, parser in groups:
        inside = " ".join(_link(child, each) for each, _, child in children(parser))
        lines.append(f"| {_link(parser, name)} | {told} | {inside} |")
    lines += ["", "| command | what it does |", "|---|---|"]
    lines += [f"| {_link(parser, name)} | {told} |" for name, told, parser in singles]
    parts = ["\n".join(lines), _section(whole, 2)]
    for _, _, parser in (*singles, *groups):
        parts.append(_section(parser, 2))
        parts += [_section(child, 3) for _, _, child in children(parser)]
    return "\n\n".join(parts)


def children(parser: Parser) -> list[tuple[str, str, Parser]]:
    """The commands below one: name, a few words, parser."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [
        (choice.dest, choice.help or "", action.choices[choice.dest])
        for action in found
        for choice in action._choices_actions
    ]


def _link(parser: Parser, shown: str) -> str:
    """To the heading that ``_section`` writes, by the anchor that Markdown's readers give it."""
    return f"[`{shown}`](#{parser.prog.replace(' ', '-')})"


def _section(parser: Parser, level: int) -> str:
    parser.formatter_class = _Steady
    return f"{'#' * level} `{parser.prog}`\n\n```text\n{parser.format_help().rstrip()}\n```"


class _Steady(Formatter):
    """Help of one width, so that the documentation does not depend on the terminal it is made in."""

    def __init__(self, prog: str, width: int | None = _WIDTH) -> None:
        super().__init__(prog, width)
