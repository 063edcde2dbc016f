"""From a file to a running agent. It imports nothing of the command line, which weighs more than all of the agent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forewarn.guest.agent.config.defaults import CONFIG_PATH
from forewarn.guest.agent.values import AgentConfig
from forewarn.wire.json_bytes import WireError
from forewarn.wire.times import parse_duration

NOT_ON_MACOS = (
    "the agent is for Linux and Windows, not for macOS; 'forewarn agent check' and 'explain' read its file here too"
)
_BAD_FILE = 2  # the exit status by which systemd knows that another try would be in vain


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """How an agent is to run. ``config`` None: the usual file, if there is one."""

    config: str | None = None
    once: bool = False
    dry_run: bool = False
    patience_seconds: float | None = None  # of a single look; None is the usual
    service: bool = False  # of Windows: its manager has started us
    azure_event_log: bool = False  # as that: entries as Microsoft's sample service writes them


def read_words(words: Sequence[str]) -> AgentOrder | None:
    """What stands behind ``forewarn agent run``; None for all that a real parser should answer, such as --help."""
    config, patience = None, None
    flags = {"--once": False, "--dry-run": False, "--service": False, "--azure-event-log": False}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--config" and rest and not rest[0].startswith("-"):
            config = rest.pop(0)
        elif word == "--patience" and rest:
            patience = _seconds(rest.pop(0))
            if patience is None:
                return None
        elif word in flags:
            flags[word] = True
        else:
            return None
    once, dry_run, service, azure = flags.values()
    return AgentOrder(config, once, dry_run, patience, service, azure) if once or patience is None else None


def _seconds(text: str) -> float | None:
    try:
        return parse_duration(text).total_seconds() or None
    except WireError:
        return None


def start(order: AgentOrder) -> int:
    """Run the agent as ordered; its exit status. What is wrong with the file goes to standard error."""
    if sys.platform == "darwin":
        print(f"forewarn: {NOT_ON_MACOS}.", file=sys.stderr)
        return _BAD_FILE
    if order.service:
        return _start_service(replace(order, service=False))
    config = _load(order.config)
    if config is None:
        return _BAD_FILE
    from forewarn.guest.agent.telling.logs import configure

    configure(config.log_format)
    return run_agent(config, once=order.once, dry_run=order.dry_run, patience_seconds=order.patience_seconds)


def _start_service(order: AgentOrder) -> int:
    """The same, as the service that Windows' manager has started."""
    if sys.platform == "win32":
        from forewarn.guest.system.windows.running_service import run_as_service

        return run_as_service(lambda: start(order), azure=order.azure_event_log)
    print("forewarn: --service is for Windows; here systemd runs the agent without it.", file=sys.stderr)
    return _BAD_FILE


def run_agent(
    config: AgentConfig, *, once: bool = False, dry_run: bool = False, patience_seconds: float | None = None
) -> int:
    """Run the agent until it is ended; its exit status."""
    from forewarn.guest.agent.keeping.journal import Busy
    from forewarn.guest.agent.loop import FAILED, ONCE_PATIENCE_SECONDS, Agent
    from forewarn.guest.agent.telling.reporting import LOG
    from forewarn.guest.system import this_machine

    patience, system = patience_seconds or ONCE_PATIENCE_SECONDS, this_machine()
    try:
        agent = Agent(config, once=once, dry_run=dry_run, patience_seconds=patience, system=system)
    except (Busy, OSError) as problem:
        LOG.error("cannot begin: %s", problem)
        return FAILED
    system.on_stop(agent.stop)
    try:
        return agent.run()
    except OSError as problem:  # a full disk, an address that is taken: the next start may find it better
        LOG.error("cannot go on: %s", problem)
        return FAILED


def _load(path: str | None) -> AgentConfig | None:
    """The file that was named must be there; the usual one need not be, and then the defaults count."""
    if path is None and not Path(CONFIG_PATH).exists():
        return AgentConfig()
    from forewarn.guest.agent.config.reading import check_file

    checked = check_file(Path(path or CONFIG_PATH))
    for complaint in checked.complaints:
        print(complaint, file=sys.stderr)
    if checked.config is None:
        print(f"forewarn: {path or CONFIG_PATH} cannot be obeyed.", file=sys.stderr)
    return checked.config
