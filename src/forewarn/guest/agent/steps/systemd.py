"""``systemd``: units are stopped, in the order given, and started again in reverse; only those that were running."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.deciding.state import StepOutcome
from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_texts
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import LookFailed, PausedThings, listed, said

_SYSTEMCTL = "systemctl"
_PATTERN = set("*?[")  # systemctl(1), "Parameter Syntax"


class Systemd(PausedThings):
    """Units that were not running before are not started after: an administrator had stopped them."""

    keys = StepKeys(
        {
            "units": Key(
                check_texts,
                "stopped in this order, and those that ran are started again in reverse",
                '["worker.service"]',
                required=True,
            )
        }
    )

    def does(self, settings: Settings) -> str:
        return f"stop {listed(settings.get('units'))}"

    def undoes(self, settings: Settings) -> str:
        return f"start {listed(settings.get('units'))}"

    def needs(self, settings: Settings) -> Iterator[Need]:
        yield Need("program", _SYSTEMCTL)
        units = settings.get("units")
        yield from (Need("systemd unit", str(unit)) for unit in (units if isinstance(units, list) else ()))

    def running(self, task: Task) -> list[str]:
        return [unit for unit in task.words("units") if _runs(task, unit)]

    def stopped(self, task: Task, running: list[str]) -> list[str]:
        return task.words("units")  # all of them: one may be on its way up

    def started(self, task: Task, ran: list[str]) -> list[str]:
        return [unit for unit in task.words("units") if unit in ran]

    def stop(self, task: Task, name: str) -> list[str]:
        return [_SYSTEMCTL, "stop", "--", name]

    def start(self, task: Task, name: str) -> list[str]:
        return [_SYSTEMCTL, "start", "--", name]


def _runs(task: Task, unit: str) -> bool:
    """The status is 0 if it does; else its state is written, a word. All else is said by one that could not look."""
    ended = run_program(task, [_SYSTEMCTL, "is-active", "--", unit])
    if not ended.good and (ended.outcome is not StepOutcome.FAILED or not _are_states(said(task), unit)):
        raise LookFailed(ended)
    return ended.good


def _are_states(lines: list[str], unit: str) -> bool:
    """One for each unit that a pattern fits: it may be none."""
    return all(line.isalpha() for line in lines) and bool(lines or _PATTERN & set(unit))
