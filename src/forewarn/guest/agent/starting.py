"""From a file to a running agent. It imports nothing of the command line, which weighs more than all of the agent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forewarn.guest.agent.config import AgentConfig
from forewarn.guest.agent.defaults import CONFIG_PATH

_BAD_FILE = 2  # the exit status by which systemd knows that another try would be in vain


@dataclass(frozen=True, slots=True)
class Order:
    """How an agent is to run. ``config`` None: the usual file, if there is one."""

    config: str | None = None
    once: bool = False
    dry_run: bool = False


def read_words(words: Sequence[str]) -> Order | None:
    """What stands behind ``forewarn agent run``; None for all that a real parser should answer, such as --help."""
    config, once, dry_run = None, False, False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--config" and rest and not rest[0].startswith("-"):
            config = rest.pop(0)
        elif word == "--once":
            once = True
        elif word == "--dry-run":
            dry_run = True
        else:
            return None
    return Order(config, once, dry_run)


def start(order: Order) -> int:
    """Run the agent as ordered; its exit status. What is wrong with the file goes to standard error."""
    config = _load(order.config)
    if config is None:
        return _BAD_FILE
    from forewarn.guest.agent.logs import configure
    from forewarn.guest.agent.loop import run_agent

    configure(config.log_format)
    return run_agent(config, once=order.once, dry_run=order.dry_run)


def _load(path: str | None) -> AgentConfig | None:
    """The file that was named must be there; the usual one need not be, and then the defaults count."""
    if path is None and not Path(CONFIG_PATH).exists():
        return AgentConfig()
    from forewarn.guest.agent.reading import check_file

    checked = check_file(Path(path or CONFIG_PATH))
    for complaint in checked.complaints:
        print(complaint, file=sys.stderr)
    if checked.config is None:
        print(f"forewarn: {path or CONFIG_PATH} cannot be obeyed.", file=sys.stderr)
    return checked.config
