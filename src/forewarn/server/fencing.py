"""Turning a lost host off by the command that the server's own region file has for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from datetime import timedelta

from forewarn.plane.hands.engine import EngineFault


def fence_by(command: Sequence[str], host: str, patience: timedelta) -> Callable[[], None]:
    """A function that runs the command and raises ``EngineFault`` unless it ends with status 0: then the host is off.

    The command may hold a password and may print it, so neither it nor its output is told in the fault.
    """

    def fence() -> None:
        try:
            ended = subprocess.run(  # noqa: S603 - a list from the server's own file; no shell
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=patience.total_seconds(), check=False
            )
        except subprocess.TimeoutExpired:
            raise EngineFault(f"the fence of host {host} has not ended within {patience}, and was killed") from None
        except OSError as fault:
            raise EngineFault(f"the fence of host {host} cannot be run: {fault.strerror or fault}") from None
        if ended.returncode:
            raise EngineFault(f"the fence of host {host} ended with status {ended.returncode}; run it by hand to see")

    return fence
