"""``forewarn agent …``: the commands of the agent inside a VM."""

from forewarn.cli.commands.agent.commands import add_to

__all__ = ["add_to"]
