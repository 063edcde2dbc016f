"""``iis``: application pools are stopped by ``appcmd``, and started again; only those that were running."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_texts
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import PausedThings, listed, said


class Iis(PausedThings):
    """A pool that is stopped lets its requests end first, for as long as the pool's own shutdown limit says.

    Where a load balancer's probe looks at a file, a step of kind ``ready-file`` takes the VM out before.
    """

    things = "pools"
    keys = StepKeys(
        {
            "pools": Key(
                check_texts,
                "application pools, stopped in this order; those that ran are started again in reverse",
                '["shop"]',
                required=True,
            )
        }
    )

    def does(self, settings: Settings) -> str:
        return f"stop the application pools {listed(settings.get('pools'))}"

    def undoes(self, settings: Settings) -> str:
        return f"start the application pools {listed(settings.get('pools'))}"

    def needs(self, settings: Settings) -> Iterator[Need]:
        yield from ()

    def running(self, task: Task) -> list[str]:
        return [
            pool
            for pool in task.words("pools")
            if run_program(task, [_appcmd(task), "list", "apppool", f"/name:{pool}", "/text:state"]).good
            and said(task) == ["Started"]
        ]

    def stop(self, task: Task, name: str) -> list[str]:
        return [_appcmd(task), "stop", "apppool", f"/apppool.name:{name}"]

    def start(self, task: Task, name: str) -> list[str]:
        return [_appcmd(task), "start", "apppool", f"/apppool.name:{name}"]


def _appcmd(task: Task) -> str:
    root = task.system.environment.get("SYSTEMROOT", "C:\\Windows")
    return f"{root}\\System32\\inetsrv\\appcmd.exe"
