"""What the steps of a file need and this machine does not have now. Looks, and changes nothing.

It is a warning and no more: a socket may come with its service, and a mount with the boot.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from forewarn.guest.agent.config.complaints import Complaint
from forewarn.guest.agent.values import AgentConfig, Step

_PATIENCE_SECONDS = 5.0
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./+-]+", re.ASCII)


def missing(config: AgentConfig) -> list[Complaint]:
    """Warnings with the line of the step, in the order of the file."""
    return [
        Complaint(config.path, step.line, f"step {step.name!r}: {problem}", warning=True)
        for step in config.steps
        for problem in _LOOKS.get(step.kind, _nothing)(step)
    ]


def _nothing(step: Step) -> Iterator[str]:
    """What others run (an http step's service) is not asked: asking may be doing."""
    return iter(())


def _commands(step: Step) -> Iterator[str]:
    directory = step.settings.get("directory")
    if isinstance(directory, str) and not Path(directory).is_dir():
        yield f"the directory {directory} is not there"
    for key in ("run", "undo", "command"):
        if key in step.settings:
            yield from _program(step, step.settings[key])


def _program(step: Step, words: object) -> Iterator[str]:
    """The first word. A line for the shell is only looked at where that is a plain word and no assignment or loop."""
    is_line = step.settings.get("shell") is True or not isinstance(words, list)
    listed = words if isinstance(words, list) else [words]
    try:
        first = shlex.split(" ".join(map(str, listed)))[:1] if is_line else [str(each) for each in listed[:1]]
    except ValueError:
        first = []
    if not first or (is_line and not _PLAIN_WORD.fullmatch(first[0])):
        return
    if is_line and "/" not in first[0]:
        known = _answers(["/bin/sh", "-c", 'command -v -- "$1"', "sh", first[0]])
        if known is not None and not known.strip():
            yield f"the command {first[0]} is not found"
        return
    yield from _found(first[0], str(step.settings.get("directory") or "/"))


def _found(program: str, directory: str = "/") -> Iterator[str]:
    if "/" not in program:
        if shutil.which(program) is None:
            yield f"the command {program} is not found"
        return
    path = Path(directory, program)
    if not path.is_file():
        yield f"the command {program} is not found"
    elif not os.access(path, os.X_OK):
        yield f"the command {program} is not executable"


def _socket(step: Step) -> Iterator[str]:
    path = Path(str(step.settings.get("socket", "")))
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except OSError as problem:
        yield f"the socket {path} cannot be reached: {(problem.strerror or str(problem)).lower()}"
        return
    if not is_socket:
        yield f"{path} is no socket"


def _file(step: Step) -> Iterator[str]:
    path = Path(str(step.settings.get("path", "")))
    if not path.parent.is_dir():
        yield f"the directory {path.parent} is not there"


def _units(step: Step) -> Iterator[str]:
    if shutil.which("systemctl") is None:
        yield "the command systemctl is not found"
        return
    units = step.settings.get("units")
    for unit in units if isinstance(units, list) else ():
        state = _answers(["systemctl", "show", "--property=LoadState", "--value", "--", str(unit)])
        if state is not None and state.strip() == "not-found":
            yield f"systemd knows no unit {unit}"


def _kubectl(step: Step) -> Iterator[str]:
    yield from _found(str(step.settings.get("kubectl", "kubectl")))


def _answers(words: list[str]) -> str | None:
    """What a command that only looks prints; None where it could not be asked."""
    try:
        done = subprocess.run(  # noqa: S603 - our own words, and a name behind them
            words, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


_LOOKS = {
    "command": _commands,
    "wait": _commands,
    "haproxy": _socket,
    "ready-file": _file,
    "systemd": _units,
    "kubernetes": _kubectl,
}
