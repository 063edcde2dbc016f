"""The one writer, without a loop around it."""

from __future__ import annotations

from datetime import datetime

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.refusal import Refused
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.plane.clock import elapsed
from forewarn.plane.ports import JournalFault
from forewarn.plane.reads import ReadBook
from forewarn.plane.writer import Asked, Line, Writer, load
from tests.unit.plane.bench import HOUR, NOON, OPERATOR, ShakyJournal


def writer(journal: ShakyJournal, now: datetime = NOON) -> Writer:
    return Writer(journal, load(journal), Rules(), lambda: now, ReadBook(), elapsed)


def create(*names: str) -> Asked:
    return asked(c.CreateVms(names, VmSpec(), "s"))


def asked(command: c.Command) -> Asked:
    return Asked(command, OPERATOR, elapsed())


def test_what_is_written_is_numbered_without_a_gap() -> None:
    journal = ShakyJournal()
    one = writer(journal)
    first, second = one.write([create("a"), create("b")]), one.write([create("c")])
    assert [record.seq for record in first.records + second.records] == [1, 2, 3, 4, 5, 6]
    assert journal.read(0, 10) == list(first.records + second.records)


def test_answers_stand_in_the_order_of_the_commands() -> None:
    answers = writer(ShakyJournal()).write([create("a"), create("a"), create("b")]).answers
    assert [isinstance(answer, Refused) for answer in answers] == [False, True, False]


def test_a_writer_takes_up_what_others_wrote_before_it_writes() -> None:
    journal = ShakyJournal()
    one, two = writer(journal), writer(journal)
    one.write([create("a")])
    written = two.write([create("a"), create("b")])
    assert isinstance(written.answers[0], Refused)
    assert [record.seq for record in written.records] == [1, 2, 3, 4]
    assert sorted(two.region.vms) == ["a", "b"]


@pytest.mark.parametrize("late", [False, True])
def test_a_transaction_that_fails_leaves_everything_as_it_was(late: bool) -> None:
    journal = ShakyJournal()
    one = writer(journal)
    one.write([create("a")])
    before = one.region, one.seq
    journal.failures, journal.late = 1, late
    with pytest.raises(JournalFault):
        one.write([create("b")])
    assert (one.region, one.seq) == before
    assert len(one.write([create("b")]).answers) == 1


def test_a_clock_that_was_set_back_does_not_set_the_region_back() -> None:
    journal = ShakyJournal()
    writer(journal).write([create("a")])
    late = writer(journal, NOON - HOUR).write([create("b")])
    assert {record.fact.at for record in late.records} == {NOON}


def test_an_empty_step_appends_nothing() -> None:
    journal = ShakyJournal()
    written = writer(journal).write([asked(c.Tick())])
    assert (written.answers, written.records, journal.head()) == (((),), (), 0)


def test_commands_that_lead_to_very_much_are_answered_in_several_transactions() -> None:
    journal = ShakyJournal()
    one = writer(journal)
    batch = [create(*(f"{name}-{number}" for number in range(3_000))) for name in "abc"]
    first = one.write(batch)
    assert len(first.answers) == 2
    second = one.write(batch[len(first.answers) :])
    assert len(second.answers) == 1
    assert len(one.region.vms) == 9_000


def test_a_node_that_only_follows_drops_agenda_entries_that_others_have_settled() -> None:
    journal, now = ShakyJournal(), NOON
    rules, follower = Rules(user_operation_limit=0), writer(journal)
    one = Writer(journal, load(journal), rules, lambda: now, ReadBook(), elapsed)
    one.write([create("a"), asked(c.Pulse((("a", NOON),)))])
    for turn in range(500):
        (facts,) = one.write([asked(c.RestartVms(("a",), f"S{turn}"))]).answers
        assert not isinstance(facts, Exception)
        event_id = next(fact.event.id for fact in facts if isinstance(fact, f.EventScheduled))
        one.write([asked(c.CancelEvents((event_id,), "no"))])
        now += HOUR / 4
        one.write([asked(c.Pulse((("a", now),)))])
        follower.catch_up()
    for late in (follower, writer(journal)):
        assert len(list(late.region.agenda.soonest(1_000))) < 10
    assert next_deadline(follower.region) == next_deadline(one.region)


def test_a_journal_that_was_loaded_tells_how_much_of_it_had_to_be_read() -> None:
    journal = ShakyJournal()
    one = writer(journal)
    one.write([create("a")])
    journal.snapshot(one.region, one.seq)
    one.write([create("b")])
    again = load(journal)
    assert (again.snapshot_seq, again.seq) == (2, one.seq)


def test_a_batch_names_the_commands_it_took_and_a_fault_answers_those_that_waited() -> None:
    journal = ShakyJournal()
    one, line = writer(journal), Line([create("a"), create("b"), create("c")])
    journal.failures = 1
    batch = one.carry_out(line, 2)
    assert isinstance(batch.outcome, JournalFault)
    assert [each.command for each in batch.asked] == [create("a").command, create("b").command]
    assert [each.command for each in line.take(10)] == [create("c").command]
    assert (journal.head(), one.seq) == (0, 0)


def test_what_a_batch_leaves_without_an_answer_goes_back_to_the_front_of_the_line() -> None:
    one, line = writer(ShakyJournal()), Line(create(*(f"{name}-{n}" for n in range(3_000))) for name in "abc")
    batch = one.carry_out(line, len(line))
    assert not isinstance(batch.outcome, Exception)
    line.append(create("late"))
    line.put_back(batch.asked[len(batch.outcome.answers) :])
    assert [len(each.command.names) for each in line.take(10) if isinstance(each.command, c.CreateVms)] == [3_000, 1]
