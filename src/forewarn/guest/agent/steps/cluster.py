"""``cluster``: this node of a failover cluster gives its roles to others and is paused, and takes them back after."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.steps.keys import Key, StepKeys, check_flag, check_text
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import PausedThings, settled
from forewarn.guest.agent.steps.powershell import POWERSHELL, line_words, quoted, states

_HAS_NO_ROLES = ("paused", "down")  # of CLUSTER_NODE_STATE, clusapi.h; others are up, joining and unknown
# With how its drain goes, of CLUSTER_NODE_DRAIN_STATUS, clusapi.h: not initiated, in progress, completed, failed
_WITH_DRAIN = "($_.State, $_.DrainStatus -join ' ')"


class FailoverCluster(PausedThings):
    """A node that was paused before stays so after: an administrator had done it."""

    things = "cluster-nodes"
    keys = StepKeys(
        {
            "node": Key(check_text, "its name in the cluster; default: this computer's"),
            "failback": Key(check_flag, "default `true`: afterwards its roles come back at once"),
        }
    )

    def does(self, settings: Settings) -> str:
        return f"drain {_node_words(settings)} of the failover cluster, and pause it"

    def undoes(self, settings: Settings) -> str:
        back = ", with its roles" if settings.get("failback", True) else ""
        return f"resume {_node_words(settings)} of the failover cluster{back}"

    def needs(self, settings: Settings) -> Iterator[Need]:
        yield Need("program", POWERSHELL)

    def running(self, task: Task) -> list[str]:
        found = states(task, f"Get-ClusterNode -Name {_node(task)}")
        return [] if all(state in _HAS_NO_ROLES for state in found) else ["node"]

    def already(self, task: Task, name: str, *, runs: bool) -> bool:
        """An agent may have ended while it drained: the node is paused since the drain began, which goes on alone.

        A drain that failed, or never began, is asked for again.
        """
        if runs:
            return False  # the line that starts it looks itself
        command = f"Get-ClusterNode -Name {_node(task)}"
        return settled(task, lambda: states(task, command, _WITH_DRAIN)[0], "paused inprogress") == "paused completed"

    def stop(self, task: Task, name: str) -> list[str]:
        return line_words(f"Suspend-ClusterNode -Name {_node(task)} -Drain -Wait")

    def start(self, task: Task, name: str) -> list[str]:
        how = "Immediate" if task.step.settings.get("failback", True) else "NoFailback"
        up = f"(Get-ClusterNode -Name {_node(task)}).State -eq 'Up'"  # was never paused: resuming it is a fault
        return line_words(f"if (-not ({up})) {{ Resume-ClusterNode -Name {_node(task)} -Failback {how} }}")


def _node(task: Task) -> str:
    return quoted(task.text("node")) if "node" in task.step.settings else "$env:COMPUTERNAME"


def _node_words(settings: Settings) -> str:
    return f"node {settings['node']}" if "node" in settings else "this node"
