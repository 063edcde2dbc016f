"""The kinds of steps. A new one is a module here (its keys and words, what it needs, does and undoes) and a row."""

from __future__ import annotations

from collections.abc import Mapping

from forewarn.guest.agent.steps.command import Command
from forewarn.guest.agent.steps.haproxy import Haproxy
from forewarn.guest.agent.steps.http import Http
from forewarn.guest.agent.steps.kind import StepKind, Task
from forewarn.guest.agent.steps.kubernetes import Kubernetes
from forewarn.guest.agent.steps.ready_file import ReadyFile
from forewarn.guest.agent.steps.systemd import Systemd
from forewarn.guest.agent.steps.wait import Wait
from forewarn.guest.agent.values import Step

KINDS: Mapping[str, StepKind] = {
    "command": Command(),
    "systemd": Systemd(),
    "http": Http(),
    "wait": Wait(),
    "ready-file": ReadyFile(),
    "haproxy": Haproxy(),
    "kubernetes": Kubernetes(),
}

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
