"""Completion on Tab: commands and options from the parser, names and ids from the server, if one answers soon.

A shell calls ``forewarn completion --words`` at each Tab. Whatever goes wrong there is silence: a person who types does
not want to read why there is nothing to complete. Needs no package.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from forewarn.cli.api.client import OperatorClient, Server

_PATIENCE_SECONDS = 1.0  # ours: a server on the same machine takes milliseconds; who waits longer types on
_MOST = 100  # ours: more names than a person looks through; the next letter makes them fewer

SCRIPTS = {
    "bash": """\
_forewarn() {
  local IFS=$'\\n'
  COMPREPLY=($(forewarn completion --words "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
}
complete -o default -F _forewarn forewarn
""",
    "zsh": """\
#compdef forewarn
_forewarn() {
  local -a found
  found=("${(@f)$(forewarn completion --words "${words[@]:0:$CURRENT}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [[ "$funcstack[1]" = _forewarn ]]; then _forewarn "$@"; else compdef _forewarn forewarn; fi
""",
    "fish": """\
function __forewarn_words
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  forewarn completion --words $before "$current" 2>/dev/null
end
complete -c forewarn -f -a '(__forewarn_words)'
""",
}


def candidates(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """What the last of the words may become; the first of them is the program."""
    *before, current = words[1:] or [""]
    place = _Place(parser)
    for word in before:
        place.take(word)
    return sorted({each for each in place.choices(current) if each.startswith(current)})[:_MOST]


class _Place:
    """Where in a command line the cursor is."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser
        self._wanted: argparse.Action | None = None  # the option whose value comes next
        self._taken = 0  # arguments without a dash

    def take(self, word: str) -> None:
        if self._wanted is not None:
            self._wanted = None
        elif word.startswith("-"):
            action = self._parser._option_string_actions.get(word)
            self._wanted = action if action is not None and action.nargs is None and action.const is None else None
        elif (commands := self._commands()) is not None:
            self._parser = commands.choices.get(word, self._parser)
        else:
            self._taken += 1

    def choices(self, current: str) -> Iterable[str]:
        if self._wanted is not None:
            return self._values(self._wanted, current)
        if current.startswith("-"):
            return [each for each in self._parser._option_string_actions if each.startswith("--")]
        commands = self._commands()
        if commands is not None:
            return commands.choices
        places = [action for action in self._parser._actions if not action.option_strings]
        if not places:
            return ()
        return self._values(places[min(self._taken, len(places) - 1)], current)

    def _commands(self) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
        return next((each for each in self._parser._actions if isinstance(each, argparse._SubParsersAction)), None)

    def _values(self, action: argparse.Action, current: str) -> Iterable[str]:
        if action.choices is not None:
            return [str(each) for each in action.choices]
        family = self._parser.prog.split()[1]
        if self._parser.prog.endswith(" create"):
            return ()
        ask = _of_server(str(action.metavar), family, action)
        return _soon(ask, current) if ask is not None else ()


def _of_server(
    metavar: str, family: str, action: argparse.Action
) -> Callable[[OperatorClient, str], Iterator[str]] | None:
    """What a server is asked for, by how help names the value."""
    if metavar == "VM" or (metavar == "NAME" and (family == "vm" or action.dest == "vm")):
        return lambda client, part: (vm["name"] for vm in client.vms({"name": part}))
    if metavar == "NAME" and family == "vmss":
        return lambda client, _: (each["name"] for each in client.scale_sets())
    if metavar == "HOST":
        return lambda client, _: (host["name"] for host in client.hosts())
    if metavar == "KIND/NAME":
        return lambda client, _: (each["key"] for each in client.scopes())
    if metavar == "ID" and (family == "campaign" or action.dest == "campaign"):
        return lambda client, _: (each["id"] for each in client.campaigns())
    if metavar == "ID" and (family == "event" or action.dest == "event"):
        return lambda client, _: (each["id"] for each in client.events())
    return None


def _soon(ask: Callable[[OperatorClient, str], Iterator[str]], current: str) -> list[str]:
    """What a server answers within a second; nothing where it does not, wants a token, or is not there."""
    found: list[str] = []

    def look() -> None:
        try:
            found.extend(islice(ask(OperatorClient(Server.find(None)), current), _MOST * 10))
        except Exception:
            return

    asking = threading.Thread(target=look, daemon=True)
    asking.start()
    asking.join(_PATIENCE_SECONDS)
    # An id may be typed in any case, and a shell completes what begins like what was typed
    return [
        each.lower() if current and current.islower() and each.lower().startswith(current) else each for each in found
    ]
