"""The agent's process as a service: its log in a file and in the Event Log, its life by the service manager."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from forewarn.durable import make_directory
from forewarn.guest.system import this_machine

assert sys.platform == "win32"
from forewarn.durable_windows import open_to_append, program_data  # noqa: E402 - there is none elsewhere
from forewarn.guest.system.windows import WindowsSystem  # noqa: E402 - the same
from forewarn.guest.system.windows.event_log import EventLogHandler  # noqa: E402 - the same
from forewarn.guest.system.windows.service import ManagedService  # noqa: E402 - the same

AZURE_VARIABLE = "FOREWARN_AZURE_EVENT_LOG"
_LOG_BYTES = 10 << 20  # ours: then it is put aside, and the one before it forgotten
_LOGGER = "forewarn.agent"


def run_as_service(work: Callable[[], int], *, azure: bool = False) -> int:
    """Work until the manager asks for the end; the exit status. ``azure``: see ``EventLogHandler``."""
    _open_log()
    system = this_machine()
    assert isinstance(system, WindowsSystem)
    system.service = ManagedService()
    logging.getLogger(_LOGGER).addHandler(EventLogHandler(azure=azure or bool(os.environ.get(AZURE_VARIABLE))))
    try:
        return system.service.run(work)
    except OSError as problem:
        print(f"forewarn: {problem}.", file=sys.stderr)
        return 2


def _open_log() -> None:
    """A service has no standard streams: what would go there goes to a file beside the agent.toml."""
    directory = Path(program_data()) / "forewarn"
    make_directory(directory)
    log = directory / "agent.log"
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    stream = os.fdopen(open_to_append(log), "w", encoding="utf-8", buffering=1)
    sys.stdout = sys.stderr = stream
