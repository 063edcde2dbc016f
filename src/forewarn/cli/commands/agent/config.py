"""The agent's file as the command line finds it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.cli.output import Output
from forewarn.settings.errors import usage

if TYPE_CHECKING:
    from forewarn.guest.agent.config.reading import Checked
    from forewarn.guest.agent.values import AgentConfig

PATIENCE_SECONDS = 5.0  # ours: of a person at a terminal
# As in guest.agent.config.defaults, for whose import every command would pay
CONFIG_PATH = "/etc/forewarn/agent.toml"
if sys.platform == "win32":
    from forewarn.durable_windows import program_data

    CONFIG_PATH = program_data() + "\\forewarn\\agent.toml"


def check_config(path: str) -> Checked:
    from forewarn.guest.agent.config.reading import check_file

    return check_file(Path(path))


def load_config(path: str | None, out: Output) -> AgentConfig:
    """The file that was named must be there; the usual one need not be, and then the defaults count."""
    if path is None and not Path(CONFIG_PATH).exists():
        from forewarn.guest.agent.values import AgentConfig

        return AgentConfig()
    checked = check_config(path or CONFIG_PATH)
    for complaint in checked.complaints:
        out.note(str(complaint))
    if checked.config is None:
        raise usage(f"{path or CONFIG_PATH} cannot be obeyed.")
    return checked.config
