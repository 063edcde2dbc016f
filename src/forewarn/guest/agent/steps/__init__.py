"""The kinds of steps: what each does before an event, and its reverse. A new kind is a module here and a row below."""

from __future__ import annotations

from collections.abc import Mapping

from forewarn.guest.agent.config.values import Step
from forewarn.guest.agent.steps.command import Command
from forewarn.guest.agent.steps.haproxy import Haproxy
from forewarn.guest.agent.steps.http import Http
from forewarn.guest.agent.steps.keys import STEP_KINDS, KeyComplaint
from forewarn.guest.agent.steps.kind import Kind, Task
from forewarn.guest.agent.steps.kubernetes import Kubernetes
from forewarn.guest.agent.steps.ready_file import ReadyFile
from forewarn.guest.agent.steps.systemd import Systemd
from forewarn.guest.agent.steps.wait import Wait

KINDS: Mapping[str, Kind] = {
    "command": Command(),
    "systemd": Systemd(),
    "http": Http(),
    "wait": Wait(),
    "ready-file": ReadyFile(),
    "haproxy": Haproxy(),
    "kubernetes": Kubernetes(),
}

__all__ = ["KINDS", "Kind", "Task", "check", "has_reverse", "may_repeat"]


def check(kind: str, settings: Mapping[str, object]) -> list[KeyComplaint]:
    """What is wrong with a step's settings."""
    return STEP_KINDS[kind].check(settings)


def may_repeat(step: Step) -> bool:
    """Whether doing it twice is like doing it once: by its nature, or because its author says so."""
    return step.repeatable or KINDS[step.kind].natural(step)


def has_reverse(step: Step) -> bool:
    return KINDS[step.kind].has_reverse(step)
