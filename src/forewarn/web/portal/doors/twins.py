"""A deed at the other doors: ``forewarn``, ``curl``, ``az``, PowerShell, an ARM template; and what a door cannot do."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NOT_RUN = "Written from its published reference, not run here."
MOST_LINES = 10  # of commands to copy; the rest is counted


@dataclass(frozen=True)
class ApiCall:
    """A request of the operator API."""

    method: str
    path: str
    body: Any = None


@dataclass(frozen=True)
class Twin:
    """The same deed at one door: lines to copy, or why there are none."""

    door: str
    lines: tuple[str, ...] = ()
    note: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Here:
    """The address of this server, as the browser that shows the page reaches it."""

    url: str  # scheme, host and port
    has_token: bool = False


def forewarn(*commands: Sequence[str]) -> Twin:
    """Command lines of ``forewarn``, each as its words."""
    return Twin("forewarn", tuple(shlex.join(["forewarn", *words]) for words in commands))


def az(*commands: Sequence[str], note: str = "") -> Twin:
    """Command lines of ``az``; many of a kind are cut."""
    return _cut("az", [shlex.join(["az", *words]) for words in commands], note)


def cannot(door: str, why: str) -> Twin:
    return Twin(door, note=why)


def _cut(door: str, lines: list[str], note: str) -> Twin:
    more = len(lines) - MOST_LINES
    if more > 0:
        note = f"{note} And {more} more like these.".strip()
    return Twin(door, tuple(lines[:MOST_LINES]), note)


def curl(here: Here, *calls: ApiCall) -> Twin:
    return Twin("curl", tuple(_curl_line(here, call) for call in calls))


def _curl_line(here: Here, call: ApiCall) -> str:
    words = ["curl", "-sS", *(() if call.method == "GET" else ("-X", call.method))]
    if call.body is not None:
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(call.body)]
    token = ' -H "Authorization: Bearer $FOREWARN_TOKEN"' if here.has_token else ""  # for the shell to put in
    return f"{shlex.join(words)}{token} {shlex.quote(f'{here.url}{call.path}')}"


@dataclass(frozen=True)
class Cmdlet:
    """A cmdlet of the Az module, with the page of its reference that it was written from."""

    name: str
    source: str  # below learn.microsoft.com/powershell/module
    fixed: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)  # ours -> its


def power_shell(cmdlet: Cmdlet, *calls: Mapping[str, str]) -> Twin:
    """One line for each set of values. Nothing of it is run by the tests, and it says so."""
    lines = []
    for values in calls:
        words = [f"-{cmdlet.parameters[name]} {_quoted(value)}" for name, value in values.items()]
        lines.append(" ".join([cmdlet.name, *words, *cmdlet.fixed]))
    return _cut("PowerShell", lines, f"{NOT_RUN} Source: {cmdlet.source}.")


def together(door: str, twins: Sequence[Twin]) -> Twin:
    """What each of them says, one after the other."""
    notes = dict.fromkeys(twin.note for twin in twins)
    return Twin(door, tuple(line for twin in twins for line in twin.lines), " ".join(notes))


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
