"""``nlb``: this node of a Network Load Balancing cluster is drained and stopped, and started after."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.steps.keys import Key, StepKeys, check_text
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import PausedThings
from forewarn.guest.agent.steps.powershell import POWERSHELL, line_words, quoted, states

_NODE = "node"
# How the states of MicrosoftNLB_Node begin (one is shown as Converged(default)); in all but the first two the node has
# connections. PowerShell compares in any case
_TAKES_NOTHING, _TAKES_ALL = ("stopped", "suspended"), ("converging", "converged")
# Microsoft's page of Get-NlbClusterNode: it lists all nodes of the cluster, a row each; -HostName is whom it asks
_THIS_NODE = "Where-Object { ($_.Name -split '\\.')[0] -eq $env:COMPUTERNAME }"  # a name may have its domain
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
        found = states(task, _get(task))
        return [] if all(state.startswith(_TAKES_NOTHING) for state in found) else [_NODE]

    def stop(self, task: Task, name: str) -> list[str]:
        minutes = max(1, int(task.budget.left() // _SECONDS_A_MINUTE))
        return _unless(task, _TAKES_NOTHING, f"Stop-NlbClusterNode{_card(task)} -Drain -Timeout {minutes}")

    def start(self, task: Task, name: str) -> list[str]:
        return _unless(task, _TAKES_ALL, f"Start-NlbClusterNode{_card(task)}")


def _unless(task: Task, states: tuple[str, ...], command: str) -> list[str]:
    """Twice is like once: a node may start by itself with the VM, and a step that failed is tried again.

    A node that is not found is not taken for one that is so already: the command says what is wrong.
    """
    others = f"$here | Where-Object {{ $_.State -notmatch '^({'|'.join(states)})' }}"
    return line_words(f"$here = @({_get(task)}); if ($here.Count -eq 0 -or ({others})) {{ {command} }}")


def _get(task: Task) -> str:
    return f"Get-NlbClusterNode{_card(task)} | {_THIS_NODE}"


def _card(task: Task) -> str:
    interface = task.text("interface")
    return f" -HostName $env:COMPUTERNAME{f' -InterfaceName {quoted(interface)}' if interface else ''}"
