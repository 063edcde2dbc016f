"""``nlb``: this node of a Network Load Balancing cluster is drained and stopped, and started after."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_text
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import PausedThings
from forewarn.guest.agent.steps.powershell import POWERSHELL, line_words, quoted

_NODE = "node"
_SECONDS_A_MINUTE = 60.0  # the cmdlet counts minutes


class Nlb(PausedThings):
    """Connections that are there may end, for as long as there is time; new ones go to other nodes."""

    things = "nodes"
    keys = StepKeys({"interface": Key(check_text, "the network card of the cluster, where there are several")})

    def does(self, settings: Settings) -> str:
        return "drain this node of the Network Load Balancing cluster, and stop it"

    def undoes(self, settings: Settings) -> str:
        return "start this node of the Network Load Balancing cluster"

    def needs(self, settings: Settings) -> Iterator[Need]:
        yield Need("program", POWERSHELL)

    def running(self, task: Task) -> list[str]:
        line = f"if ((Get-NlbClusterNode{_card(task)}).State.ToString() -eq 'Stopped') {{ exit 1 }}"
        return [_NODE] if run_program(task, line_words(line)).good else []

    def stop(self, task: Task, name: str) -> list[str]:
        minutes = max(1, int(task.budget.left() // _SECONDS_A_MINUTE))
        return line_words(f"Stop-NlbClusterNode{_card(task)} -Drain -Timeout {minutes}")

    def start(self, task: Task, name: str) -> list[str]:
        return line_words(f"Start-NlbClusterNode{_card(task)}")


def _card(task: Task) -> str:
    interface = task.text("interface")
    return f" -HostName $env:COMPUTERNAME{f' -InterfaceName {quoted(interface)}' if interface else ''}"
