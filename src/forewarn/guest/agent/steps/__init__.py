"""The kinds of steps. A new one is a module here (its keys and words, what it needs, does and undoes) and a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from forewarn.guest.agent.steps.kind import StepKind, Task
from forewarn.guest.agent.values import Step

_PLACES = {  # module and class of each
    "command": ("command", "Command"),
    "systemd": ("systemd", "Systemd"),
    "http": ("http", "Http"),
    "wait": ("wait", "Wait"),
    "ready-file": ("ready_file", "ReadyFile"),
    "haproxy": ("haproxy", "Haproxy"),
    "kubernetes": ("kubernetes", "Kubernetes"),
    "kubernetes-node": ("kubernetes_node", "KubernetesNode"),
    "service": ("service", "WindowsService"),
    "powershell": ("powershell", "PowerShell"),
    "iis": ("iis", "Iis"),
    "nlb": ("nlb", "Nlb"),
    "cluster": ("cluster", "FailoverCluster"),
}


class _Kinds(Mapping[str, StepKind]):
    """Each is loaded when it is first asked for: an agent has few of them."""

    def __init__(self) -> None:
        self._loaded: dict[str, StepKind] = {}

    def __getitem__(self, kind: str) -> StepKind:
        if kind not in self._loaded:
            module, name = _PLACES[kind]
            found = __import__(f"{__name__}.{module}", fromlist=[name])
            self._loaded[kind] = cast(StepKind, getattr(found, name)())
        return self._loaded[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


KINDS: Mapping[str, StepKind] = _Kinds()

__all__ = ["KINDS", "Kind", "Task", "does", "has_reverse", "may_repeat", "undoes"]


def does(step: Step) -> str:
    """What it does, in words for a person. A memory may hold a step of a kind that there is no more."""
    return KINDS[step.kind].does(step.settings) if step.kind in KINDS else step.kind


def undoes(step: Step) -> str:
    """How it is undone; empty where there is nothing to undo."""
    return KINDS[step.kind].undoes(step.settings) if step.kind in KINDS else ""


def may_repeat(step: Step) -> bool:
    """Whether doing it twice is like doing it once: by its nature, or because its author says so."""
    return step.repeatable or KINDS[step.kind].natural(step)


def has_reverse(step: Step) -> bool:
    return KINDS[step.kind].has_reverse(step)
