"""``kubernetes``: the node is cordoned and drained by ``kubectl``, and uncordoned after."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.guest.agent.deciding.state import StepEnd
from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_flag, check_text
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.values import Step

_KUBECTL = "kubectl"
_DRAIN = ("--ignore-daemonsets", "--delete-emptydir-data", "--force")


class Kubernetes:
    """``node`` is by default the VM's name, with a scale set's underscore left alone: set it where they differ."""

    one_program = False
    keys = StepKeys(
        {
            "node": Key(check_text, "cordoned, and uncordoned afterwards; default: this VM's name"),
            "drain": Key(check_flag, "default `true`: pods are evicted too, within the time there is"),
            "kubectl": Key(check_text, "the program; default `kubectl`", '"/usr/local/bin/kubectl"'),
        }
    )

    def does(self, settings: Settings) -> str:
        return f"cordon{' and drain' if settings.get('drain', True) else ''} {_node(settings)}"

    def undoes(self, settings: Settings) -> str:
        return f"uncordon {_node(settings)}"

    def needs(self, settings: Settings) -> Iterable[Need]:
        return (Need("program", str(settings.get("kubectl", _KUBECTL))),)

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> StepEnd:
        ended = _kubectl(task, "cordon")
        if not ended.good or task.step.settings.get("drain", True) is False:
            return ended
        seconds = max(1, int(task.budget.left()))
        return _kubectl(task, "drain", *_DRAIN, f"--timeout={seconds}s")

    def undo(self, task: Task) -> StepEnd:
        return _kubectl(task, "uncordon")


def _node(settings: Settings) -> str:
    return f"node {settings['node']}" if "node" in settings else "this node"


def _kubectl(task: Task, verb: str, *options: str) -> StepEnd:
    node = task.text("node") or task.own_name
    return run_program(task, [task.text("kubectl", _KUBECTL), verb, *options, "--", node])
