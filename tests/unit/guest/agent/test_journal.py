"""The file that survives the agent: torn, spoiled, compacted, and always read as what was certain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.agent.deciding.state import (
    AgentState,
    Approval,
    Approving,
    Begun,
    Finished,
    Left,
    Mark,
    Record,
    Seen,
    StepOutcome,
    Undoing,
    fold_all,
    snapshot,
)
from forewarn.guest.agent.keeping.journal import FILE_NAME, AgentJournal, Busy, peek
from forewarn.guest.agent.keeping.lines import BadLine, decode, encode
from forewarn.guest.agent.values import Step, Verdict
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent

MACHINE = this_machine()

GOLDEN = Path(__file__).parents[3] / "golden" / "agent"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A", "Scheduled", "Reboot", ("web-0", "ümläut"), NOON + timedelta(minutes=15), None, "User", -1)
STEP = Step("drain", "command", {"run": ["a", "b"], "environment": {"A": "1"}}, 5.5, retries=False, repeatable=True)
STORY: list[Record] = [
    Seen(EVENT, NOON, Verdict.PREPARE_THEN_APPROVE, ("drain",)),
    Begun(1, STEP, "boot", EVENT),
    Finished(1, StepOutcome.DONE),
    Finished(1, StepOutcome.FAILED, True, "ended with status 7", NOON),
    Approving("A", Approval.INTENDED),
    Approving("A", Approval.SENT, NOON),
    Approving("A", Approval.CONFIRMED),
    Left("A"),
    Undoing(2, "drain", "boot"),
    Finished(2, StepOutcome.DONE),
]


@pytest.mark.parametrize("number", range(len(STORY)))
def test_a_record_is_read_as_it_was_written(number: int) -> None:
    assert decode(encode(STORY[number])) == STORY[number]


def test_a_snapshot_is_all_that_came_before() -> None:
    for number in range(len(STORY)):
        state = fold_all(STORY[: number + 1])
        record = decode(encode(snapshot(state)))
        assert fold_all([record]) == state


@given(st.binary(max_size=200))
def test_no_bytes_but_our_own_are_believed(data: bytes) -> None:
    with pytest.raises(BadLine):
        decode(data)


@pytest.mark.parametrize("number", range(len(STORY) + 1))
def test_the_state_is_the_same_after_the_file_was_opened_again(tmp_path: Path, number: int) -> None:
    journal = AgentJournal(MACHINE.files, tmp_path)
    for record in STORY[:number]:
        journal.write(record)
    journal.close()
    assert peek(MACHINE.files, tmp_path) == journal.state
    again = AgentJournal(MACHINE.files, tmp_path)
    assert again.state == fold_all(STORY[:number])
    assert again.spoiled == ""
    again.close()


def test_a_torn_last_line_is_as_if_it_had_never_been_written(tmp_path: Path) -> None:
    journal = AgentJournal(MACHINE.files, tmp_path)
    for record in STORY[:3]:
        journal.write(record)
    journal.close()
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(1, len(lines[-1])):
        path.write_bytes(whole[:-cut])
        again = AgentJournal(MACHINE.files, tmp_path)
        assert again.state == fold_all(STORY[:2])
        assert again.spoiled == ""
        again.write(STORY[2])
        again.close()
        assert peek(MACHINE.files, tmp_path) == fold_all(STORY[:3])


def test_a_spoiled_line_is_reported_and_what_stands_before_it_is_kept(tmp_path: Path) -> None:
    journal = AgentJournal(MACHINE.files, tmp_path)
    for record in STORY[:4]:
        journal.write(record)
    journal.close()
    path = tmp_path / FILE_NAME
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"done", b"gone")
    path.write_bytes(b"".join(lines))
    again = AgentJournal(MACHINE.files, tmp_path)
    assert again.state == fold_all(STORY[:2])
    assert "line 3" in again.spoiled
    assert path.with_suffix(".spoiled").read_bytes() == b"".join(lines)
    again.close()


def test_a_long_story_is_made_short(tmp_path: Path) -> None:
    journal = AgentJournal(MACHINE.files, tmp_path)
    for _ in range(80):
        for record in STORY:
            journal.write(record)
    journal.close()
    assert len((tmp_path / FILE_NAME).read_bytes().splitlines()) <= 500
    assert peek(MACHINE.files, tmp_path) == AgentState(last_run=2)


def test_two_agents_cannot_share_a_directory(tmp_path: Path) -> None:
    journal = AgentJournal(MACHINE.files, tmp_path)
    with pytest.raises(Busy):
        AgentJournal(MACHINE.files, tmp_path)
    journal.close()
    AgentJournal(MACHINE.files, tmp_path).close()


def test_what_an_agent_of_0_1_wrote_is_read_and_gone_on_from(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes((GOLDEN / "journal-0.1").read_bytes())
    journal = AgentJournal(MACHINE.files, tmp_path)
    care, (effect,) = journal.state.cares["A1"], journal.state.effects

    assert journal.spoiled == ""
    assert (care.approval, care.sent, care.sent_at) == (Approval.SENT, 1, None)
    assert (effect.step.name, effect.mark, effect.run, effect.tries, effect.why) == ("drain", Mark.DONE, 3, 0, "")
    journal.write(Finished(3, StepOutcome.FAILED, True, "why", NOON))
    journal.close()
    assert peek(MACHINE.files, tmp_path).effects[0].why == "why"
