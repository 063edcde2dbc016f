"""What a step does and how it is undone, in words for a person."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from forewarn.guest.agent.config.values import Step

Settings = Mapping[str, object]


def does(step: Step) -> str:
    """What the step does."""
    return _WORDS[step.kind][0](step.settings) if step.kind in _WORDS else step.kind


def undoes(step: Step) -> str:
    """How it is undone; empty where there is nothing to undo."""
    return _WORDS[step.kind][1](step.settings) if step.kind in _WORDS else ""


def _command(value: object) -> str:
    if isinstance(value, list):
        return shlex.join(str(each) for each in value)
    return str(value or "")


def _list(value: object) -> str:
    return ", ".join(str(each) for each in value) if isinstance(value, list) else str(value)


def _run(settings: Settings) -> str:
    return f"run {_command(settings.get('run'))}"


def _run_undo(settings: Settings) -> str:
    return f"run {_command(settings['undo'])}" if "undo" in settings else ""


def _call(settings: Settings) -> str:
    return f"{settings.get('method', 'POST')} {settings.get('url')}"


def _call_undo(settings: Settings) -> str:
    return f"{settings.get('undo_method', 'POST')} {settings['undo_url']}" if "undo_url" in settings else ""


def _wait(settings: Settings) -> str:
    return f"wait until {settings['url'] if 'url' in settings else _command(settings.get('command'))} says so"


def _server(settings: Settings) -> str:
    return f"{settings.get('backend')}/{settings.get('server')}"


def _node(settings: Settings) -> str:
    return f"node {settings['node']}" if "node" in settings else "this node"


def _cordon(settings: Settings) -> str:
    return f"cordon{' and drain' if settings.get('drain', True) else ''} {_node(settings)}"


_Words = tuple[Callable[[Settings], str], Callable[[Settings], str]]

_WORDS: Mapping[str, _Words] = {
    "command": (_run, _run_undo),
    "systemd": (lambda s: f"stop {_list(s.get('units'))}", lambda s: f"start {_list(s.get('units'))}"),
    "http": (_call, _call_undo),
    "wait": (_wait, lambda s: ""),
    "ready-file": (lambda s: f"take {s.get('path')} away", lambda s: f"put {s.get('path')} back"),
    "haproxy": (lambda s: f"drain {_server(s)}", lambda s: f"make {_server(s)} ready"),
    "kubernetes": (_cordon, lambda s: f"uncordon {_node(s)}"),
}
