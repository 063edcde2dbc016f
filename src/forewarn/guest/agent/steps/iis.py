"""``iis``: application pools are stopped by ``appcmd``, and started again; only those that were running."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from forewarn.guest.agent.steps.keys import Key, StepKeys, check_texts
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import PausedThings, listed, look, no_answer, settled


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
        yield Need("program", _appcmd(os.environ))

    def running(self, task: Task) -> list[str]:
        return [pool for pool in task.words("pools") if _state(task, pool) not in ("Stopped", "Stopping")]

    def stopped(self, task: Task, running: list[str]) -> list[str]:
        return task.words("pools")  # all of them: one may be on its way up, or not be down yet

    def already(self, task: Task, name: str, *, runs: bool) -> bool:
        state = settled(task, lambda: _state(task, name), "Stopping")  # then it may refuse to be stopped, and started
        return state == ("Started" if runs else "Stopped")

    def stop(self, task: Task, name: str) -> list[str]:
        return [_appcmd(task.system.environment), "stop", "apppool", f"/apppool.name:{name}"]

    def start(self, task: Task, name: str) -> list[str]:
        return [_appcmd(task.system.environment), "start", "apppool", f"/apppool.name:{name}"]


def _state(task: Task, pool: str) -> str:
    """As IIS says it: Started, Starting, Stopped, Stopping or Unknown."""
    told = look(task, [_appcmd(task.system.environment), "list", "apppool", f"/name:{pool}", "/text:state"])
    if len(told) != 1:
        raise no_answer(f"appcmd tells no state of the pool {pool}; 'appcmd list apppool' shows which there are")
    return told[0]


def _appcmd(environment: Mapping[str, str]) -> str:
    root = environment.get("SYSTEMROOT", "C:\\Windows")
    return f"{root}\\System32\\inetsrv\\appcmd.exe"
