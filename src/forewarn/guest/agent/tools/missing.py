"""What the steps of a file need and this machine does not have now. Looks, and changes nothing.

It is a warning and no more: a socket may come with its service, and a mount with the boot. What a step needs is said by
its kind (``StepKind.needs``); here is how each sort of need is looked for.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from forewarn.guest.agent.config.complaints import Complaint
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.steps.kind import Need
from forewarn.guest.agent.values import AgentConfig

_PATIENCE_SECONDS = 5.0  # systemctl answers in milliseconds; a person waits for it
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./+-]+", re.ASCII)


def missing(config: AgentConfig) -> list[Complaint]:
    """Warnings with the line of the step, in the order of the file."""
    return [
        Complaint(config.path, step.line, f"step {step.name!r}: {problem}", warning=True)
        for step in config.steps
        for need in KINDS[step.kind].needs(step.settings)
        for problem in _LOOKS[need.what](need)
    ]


def _directory(need: Need) -> Iterator[str]:
    if not Path(need.name).is_dir():
        yield f"the directory {need.name} is not there"


def _program(need: Need) -> Iterator[str]:
    if "/" not in need.name:
        if shutil.which(need.name) is None:
            yield f"the command {need.name} is not found"
        return
    path = Path(need.directory, need.name)
    if not path.is_file():
        yield f"the command {need.name} is not found"
    elif not os.access(path, os.X_OK):
        yield f"the command {need.name} is not executable"


def _shell_line(need: Need) -> Iterator[str]:
    """Only its first word, and only where that is a plain word and no assignment or loop."""
    try:
        first = shlex.split(need.name)[:1]
    except ValueError:
        return
    if not first or not _PLAIN_WORD.fullmatch(first[0]):
        return
    if "/" in first[0]:
        yield from _program(Need("program", first[0], need.directory))
        return
    known = _answers(["/bin/sh", "-c", 'command -v -- "$1"', "sh", first[0]])
    if known is not None and not known.strip():
        yield f"the command {first[0]} is not found"


def _socket(need: Need) -> Iterator[str]:
    try:
        is_socket = stat.S_ISSOCK(Path(need.name).stat().st_mode)
    except OSError as problem:
        yield f"the socket {need.name} cannot be reached: {(problem.strerror or str(problem)).lower()}"
        return
    if not is_socket:
        yield f"{need.name} is no socket"


def _unit(need: Need) -> Iterator[str]:
    state = _answers(["systemctl", "show", "--property=LoadState", "--value", "--", need.name])
    if state is not None and state.strip() == "not-found":
        yield f"systemd knows no unit {need.name}"


def _service(need: Need) -> Iterator[str]:
    if not _may_have_service(need.name):
        yield f"Windows knows no service {need.name}"


def _may_have_service(name: str) -> bool:
    """Also where the service manager cannot be asked."""
    if sys.platform == "win32":
        from forewarn.guest.system.windows.services import exists

        with suppress(OSError):
            return exists(name)
    return True


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
    "directory": _directory,
    "program": _program,
    "shell line": _shell_line,
    "socket": _socket,
    "systemd unit": _unit,
    "Windows service": _service,
}
