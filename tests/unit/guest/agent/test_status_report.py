"""What a person learns of a step that keeps failing: why, how often, when again, and how much time there is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from forewarn.guest.agent.deciding.state import Begun, Finished, Left, Seen, StepOutcome, Undoing
from forewarn.guest.agent.keeping.journal import AgentJournal
from forewarn.guest.agent.tools.status_report import report
from forewarn.guest.agent.values import AgentConfig, Step, Verdict
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A1", "Scheduled", "Reboot", ("web-0",), NOON + timedelta(minutes=15))
DRAIN = Step("drain", "command", {"run": ["/bin/drain"], "undo": ["/bin/undrain"]})


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def changed(directory: Path, seconds: float) -> str:
    """The line about the one step, at a moment."""
    (line,) = [
        line
        for line in report(AgentConfig(state_directory=str(directory)), 1.0, at(seconds)).lines()
        if line.startswith("changed")
    ]
    return line.removeprefix("changed").strip()


def failing(journal: AgentJournal, times: int, *, again: bool = True) -> None:
    journal.write(Seen(EVENT, NOON, Verdict.PREPARE_THEN_APPROVE, ("drain",)))
    for number in range(times):
        run = journal.state.last_run + 1
        journal.write(Begun(run, DRAIN, "boot", EVENT))
        journal.write(Finished(run, StepOutcome.FAILED, again, "ended with status 7: no route", at(60 + number)))


def test_a_step_that_failed_tells_why_how_often_and_what_comes(tmp_path: Path) -> None:
    journal = AgentJournal(MACHINE.files, tmp_path)
    failing(journal, 5)
    undo = "to be undone: run /bin/undrain"
    last = "failed 5 times in a row, last at 2026-01-01T12:01:04Z: ended with status 7: no route"
    assert changed(tmp_path, 70) == f"drain: {last}; next try in 10 s; 13 min 20 s left for the steps; {undo}"
    assert changed(tmp_path, 3600) == f"drain: {last}; next try now; no time left; {undo}"
    journal.close()
    reopened = AgentJournal(MACHINE.files, tmp_path)  # one record now, as after a restart
    assert changed(tmp_path, 70).startswith(f"drain: {last}; next try in 10 s")
    reopened.write(Begun(6, DRAIN, "boot", EVENT))
    assert "; now doing again; " in changed(tmp_path, 70)
    reopened.write(Finished(6, StepOutcome.DONE))
    assert changed(tmp_path, 70) == f"drain: done; {undo}"
    reopened.close()


def test_a_step_that_is_given_up_and_a_reverse_that_fails_are_told_so(tmp_path: Path) -> None:
    journal = AgentJournal(MACHINE.files, tmp_path)
    failing(journal, 1, again=False)
    assert "failed once, last at 2026-01-01T12:01:00Z" in changed(tmp_path, 70)
    assert "; not tried again; " in changed(tmp_path, 70)
    journal.write(Left("A1"))
    journal.write(Undoing(2, "drain", "boot"))
    journal.write(Finished(2, StepOutcome.TIMED_OUT, True, "was ended by its own timeout of 5 s", at(90)))
    assert changed(tmp_path, 91) == (
        "drain: failed 2 times in a row, last at 2026-01-01T12:01:30Z: was ended by its own timeout of 5 s; "
        "next try in 1 s; to be undone: run /bin/undrain"
    )
    journal.close()
