"""``service``: services of Windows are stopped, those that depend on them first, and started again in reverse."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from forewarn.guest import system
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_texts
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import PausedThings, listed, look

_TOOL = Path(system.__file__).parent / "windows" / "services.py"


class WindowsService(PausedThings):
    """Asked of the service manager by a small program of ours, and waited for; no shell is needed.

    Services that were not running before are not started after: an administrator had stopped them.
    """

    things = "services"
    keys = StepKeys(
        {
            "services": Key(
                check_texts,
                "stopped in this order, each after the services that depend on it; those that ran are started again in "
                "reverse",
                '["W3SVC"]',
                required=True,
            )
        }
    )

    def does(self, settings: Settings) -> str:
        return f"stop {listed(settings.get('services'))}, and what depends on it"

    def undoes(self, settings: Settings) -> str:
        return f"start {listed(settings.get('services'))}, and what depended on it"

    def needs(self, settings: Settings) -> Iterator[Need]:
        services = settings.get("services")
        yield from (Need("Windows service", str(name)) for name in (services if isinstance(services, list) else ()))

    def running(self, task: Task) -> list[str]:
        found: list[str] = []
        for name in task.words("services"):
            found += [each for each in look(task, _words("running", name)) if each not in found]
        return found

    def stop(self, task: Task, name: str) -> list[str]:
        return _words("stop", name)

    def start(self, task: Task, name: str) -> list[str]:
        return _words("start", name)


def _words(verb: str, name: str) -> list[str]:
    python = str(getattr(sys, "_base_executable", "") or sys.executable)
    return [python, "-I", "-S", str(_TOOL), verb, name]
