"""The judge can say no: each kind of loss, forged into a history that is otherwise true, is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.looking.documents import document_for
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.core.step import step
from forewarn.plane.ports import Origin, Record
from forewarn.wire.document import encode_document
from forewarn.wire.versions import NEWEST
from tests.loss.checker import figures, losses
from tests.loss.history import Approval, Begun, Gone, History, Look, Note, Outcome, Sight, Trouble, Write, Wrong
from tests.loss.replay import Replay

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULES = Rules(notices={Cause.USER_RESTART: timedelta(seconds=5)}, recoveries={Cause.USER_RESTART: timedelta(seconds=2)})
SEEDS = (f"{number:08X}-0000-4000-8000-000000000000" for number in range(1, 10_000))


class Story:
    """A true history in the making: commands go through the core, at the second that is said."""

    def __init__(self) -> None:
        self.region = Region()
        self.journal: list[Record] = []
        self.notes: list[Note] = []

    def do(self, second: float, command: c.Command, origin: Origin) -> Sequence[f.Fact]:
        at = START + timedelta(seconds=second)
        self.region, facts = step(self.region, command, at, RULES)
        kind = type(command).__name__
        self.journal += [Record(len(self.journal) + n, fact, kind, origin) for n, fact in enumerate(facts, 1)]
        return facts

    def write(self, second: float, deed: str, names: tuple[str, ...], command: c.Command, node: str = "a") -> list[str]:
        key = f"operator-{len(self.notes)}"
        facts = self.do(second + 0.1, command, Origin("operator", key, f"request-of-{key}"))
        made = [fact.name for fact in facts if isinstance(fact, f.VmCreated)]
        made += [fact.event.id for fact in facts if isinstance(fact, f.EventScheduled)]
        note = Write(
            key, node, deed, names, second, second + 0.2, Outcome.OK, 202, f"request-of-{key}", told=tuple(made)
        )
        self.notes.append(note)
        return made

    def see(self, second: float, vm: str = "web", node: str = "a") -> None:
        scope = self.region.scope_of(self.region.vms[vm])
        body = encode_document(document_for(self.region, scope), NEWEST).decode()
        self.notes.append(Sight(vm, node, NEWEST.date, second, second + 0.01, 200, scope.incarnation, body))

    def told(self, staleness: float = 10.0) -> History:
        return History(
            tuple(self.journal), tuple(self.notes), START.timestamp(), START + timedelta(seconds=60), staleness, 20.0
        )


def a_restart() -> Story:
    """Two VMs; one is read for, restarted, approves, feels it, and comes back."""
    story = Story()
    story.write(1, "create", ("web", "db"), c.CreateVms(("web", "db"), VmSpec(), next(SEEDS)))
    story.do(2, c.Pulse((("web", START + timedelta(seconds=2)),)), Origin("vm", "web", "first-read"))
    story.see(2.5)
    (event_id,) = story.write(3, "restart", ("web",), c.RestartVms(("web",), next(SEEDS)), node="b")
    story.see(3.5)
    story.do(4.1, c.Approve((event_id,), "web", "vm/web"), Origin("vm", "web", "approval"))
    story.notes.append(Approval("web", "c", (event_id,), 4, 4.2, Outcome.OK, 200, "approval"))
    story.notes.append(Begun(event_id, "a", 7, 4.3))
    story.see(4.25)
    story.do(4.4, c.BeginImpact(event_id, START + timedelta(seconds=5)), Origin("driver"))
    story.do(5, c.Tick(), Origin("clock"))
    story.do(7, c.Tick(), Origin("clock"))
    story.see(7.5)
    story.notes.append(Look("db", "c", 8, 8.1, found=True))
    return story


def an_unheard_restart() -> Story:
    """Nobody approves: it starts at its NotBefore."""
    story = Story()
    story.write(1, "create", ("web",), c.CreateVms(("web",), VmSpec(), next(SEEDS)))
    story.do(2, c.Pulse((("web", START + timedelta(seconds=2)),)), Origin("vm", "web", "first-read"))
    (event_id,) = story.write(3, "restart", ("web",), c.RestartVms(("web",), next(SEEDS)))
    story.do(9, c.Tick(), Origin("clock"))
    story.notes.append(Begun(event_id, "a", 7, 9.1))
    story.do(9.2, c.BeginImpact(event_id, START + timedelta(seconds=10)), Origin("driver"))
    story.do(10, c.Tick(), Origin("clock"))
    story.do(12, c.Tick(), Origin("clock"))
    return story


def _renumbered(records: Sequence[Record]) -> list[Record]:
    return [replace(record, seq=seq) for seq, record in enumerate(records, 1)]


def _drop(story: Story, *kinds: type[f.Fact]) -> None:
    story.journal = _renumbered([record for record in story.journal if not isinstance(record.fact, kinds)])


def _place(story: Story, kind: type[f.Fact]) -> int:
    return next(place for place, record in enumerate(story.journal) if isinstance(record.fact, kind))


def _note(story: Story, kind: type[Note], which: int = 0) -> int:
    return [place for place, note in enumerate(story.notes) if isinstance(note, kind)][which]


def test_a_true_history_has_no_losses() -> None:
    assert losses(a_restart().told()) == []
    assert losses(an_unheard_restart().told()) == []


def test_figures_count_what_there_was_to_judge() -> None:
    found = figures(a_restart().told())
    assert (found["writes ok"], found["documents"], found["impacts"], found["acknowledged approval"]) == (3, 4, 1, 1)


# One forgery each


def lost_write(story: Story) -> None:
    story.journal = [record for record in story.journal if not isinstance(record.fact, f.EventScheduled)][:4]
    story.journal = _renumbered(story.journal)


def half_a_write(story: Story) -> None:
    place = next(p for p, r in enumerate(story.journal) if isinstance(r.fact, f.VmCreated) and r.fact.name == "db")
    del story.journal[place]
    story.journal = _renumbered(story.journal)
    note = story.notes[_note(story, Write)]
    assert isinstance(note, Write)
    story.notes[_note(story, Write)] = replace(note, outcome=Outcome.UNKNOWN)


def doubled_write(story: Story) -> None:
    again = story.journal[_place(story, f.VmCreated)]
    assert isinstance(again.fact, f.VmCreated)
    twin = replace(again, fact=replace(again.fact, name="web-twin", at=story.journal[-1].fact.at))
    story.journal = _renumbered([*story.journal, twin])


def refused_and_there(story: Story) -> None:
    place = _note(story, Write, 1)
    note = story.notes[place]
    assert isinstance(note, Write)
    story.notes[place] = replace(note, outcome=Outcome.REFUSED, status=503, told=())


def dated_before_it_was_asked(story: Story) -> None:
    """By less than a clock can be wrong, and by more than two readings of one clock differ."""
    place = _note(story, Write)
    note = story.notes[place]
    assert isinstance(note, Write)
    story.notes[place] = replace(note, asked=note.asked + 0.35, answered=note.answered + 0.35)


def acknowledged_while_the_directory_was_gone(story: Story) -> None:
    story.notes.append(Gone("data directory was moved away", 2.9, 3.9))


def damage_that_passed_unseen(story: Story) -> None:
    story.notes.append(Wrong("bit 3 was turned: it starts without a word, and a record is lost"))


def unasked_write(story: Story) -> None:
    del story.notes[_note(story, Write, 1)]


def time_of_a_jumped_clock(story: Story) -> None:
    ahead = timedelta(hours=1)
    place = _place(story, f.EventScheduled)
    story.journal[place:] = [
        replace(record, fact=replace(record.fact, at=record.fact.at + ahead)) for record in story.journal[place:]
    ]


def incarnation_that_goes_back(story: Story) -> None:
    first, second = (_note(story, Sight, which) for which in (0, 1))
    one, two = story.notes[first], story.notes[second]
    assert isinstance(one, Sight)
    assert isinstance(two, Sight)
    story.notes[first] = replace(two, asked=3.3, answered=3.31)
    story.notes[second] = replace(one, asked=3.4, answered=3.41)


def document_older_than_the_bound(story: Story) -> None:
    note = story.notes[_note(story, Sight)]
    assert isinstance(note, Sight)
    story.notes.append(replace(note, node="sleeper", asked=20, answered=20.01))


def same_incarnation_other_bytes(story: Story) -> None:
    note = story.notes[_note(story, Sight, 1)]
    assert isinstance(note, Sight)
    story.notes.append(
        replace(note, node="b", asked=3.6, answered=3.61, body=note.body.replace("Scheduled", "Started"))
    )


def document_that_never_was(story: Story) -> None:
    note = story.notes[_note(story, Sight)]
    assert isinstance(note, Sight)
    story.notes.append(replace(note, incarnation=99, body=note.body.replace("1", "99")))


def document_of_the_future(story: Story) -> None:
    note = story.notes[_note(story, Sight, 1)]
    assert isinstance(note, Sight)
    story.notes.append(replace(note, node="b", asked=0.1, answered=0.2))


def turned_away_by_who_was_sure(story: Story) -> None:
    story.notes.append(Sight("web", "a", NEWEST.date, 3.6, 3.61, 503))


def event_started_early(story: Story) -> None:
    _drop(story, f.EventApproved)
    del story.notes[_note(story, Approval)]


def event_started_before_its_not_before_by_a_tick(story: Story) -> None:
    place = _place(story, f.EventStarted)
    record = story.journal[place]
    story.journal[place] = replace(record, fact=replace(record.fact, at=START + timedelta(seconds=4)))


def forgotten_event(story: Story) -> None:
    _drop(story, f.EventCompleted)


def forgotten_start(story: Story) -> None:
    _drop(story, f.EventStarted, f.ImpactBegan, f.ImpactEnded, f.EventCompleted)
    story.notes = [note for note in story.notes if not isinstance(note, Begun)]


def approval_without_effect(story: Story) -> None:
    _drop(story, f.EventApproved, f.EventStarted, f.ImpactBegan, f.ImpactEnded, f.EventCompleted)


def approval_that_nobody_gave(story: Story) -> None:
    del story.notes[_note(story, Approval)]


def impact_written_twice(story: Story) -> None:
    place = _place(story, f.ImpactBegan)
    story.journal = _renumbered([*story.journal[: place + 1], *story.journal[place:]])


def impact_begun_twice_in_calm(story: Story) -> None:
    note = story.notes[_note(story, Begun)]
    assert isinstance(note, Begun)
    story.notes.append(replace(note, node="b", process=8, at=note.at + 0.1))


def impact_of_nothing(story: Story) -> None:
    story.notes.append(Begun("00000000-0000-4000-8000-000000000000", "a", 7, 9))


def written_and_not_to_be_read(story: Story) -> None:
    story.notes.append(Look("db", "c", 9, 9.1, found=False))


def disabled_though_read(story: Story) -> None:
    story.see(14)
    story.do(15, c.Tick(), Origin("clock"))
    disabled = f.ScopeDisabled(START + timedelta(seconds=16), "vm/web")
    story.journal.append(Record(len(story.journal) + 1, disabled, "Tick", Origin("clock")))


def stumble(story: Story) -> None:
    story.notes.append(Write("stumbler", "a", "restart", ("web",), 8, 8.1, Outcome.UNKNOWN, 500))


def gap(story: Story) -> None:
    story.journal = [record for record in story.journal if record.seq != 3]


FORGERIES: tuple[tuple[Callable[[], Story], Callable[[Story], None], str], ...] = (
    (a_restart, lost_write, "lost: the answer tells of"),
    (a_restart, half_a_write, "half of it is missing: db"),
    (a_restart, doubled_write, "it happened more than once"),
    (a_restart, refused_and_there, "returned: it was refused, and records"),
    (a_restart, dated_before_it_was_asked, "and it was asked at"),
    (a_restart, acknowledged_while_the_directory_was_gone, "while the data directory was moved away"),
    (a_restart, damage_that_passed_unseen, "it starts without a word"),
    (a_restart, unasked_write, "who asked for nothing"),
    (a_restart, time_of_a_jumped_clock, "and it was asked at"),
    (a_restart, incarnation_that_goes_back, "and the node had shown record"),
    (a_restart, document_older_than_the_bound, "was public 10 s before"),
    (a_restart, same_incarnation_other_bytes, "two things under incarnation"),
    (a_restart, document_that_never_was, "that never was"),
    (a_restart, document_of_the_future, "was only made at"),
    (a_restart, turned_away_by_who_was_sure, "was turned away by a"),
    (a_restart, event_started_early, "and nobody had approved it"),
    (an_unheard_restart, event_started_before_its_not_before_by_a_tick, "started early"),
    (a_restart, forgotten_event, "is forgotten"),
    (an_unheard_restart, forgotten_start, "is forgotten"),
    (a_restart, approval_without_effect, "has no effect"),
    (a_restart, approval_that_nobody_gave, "who did not ask"),
    (a_restart, impact_written_twice, "has ImpactBegan more than once"),
    (a_restart, impact_begun_twice_in_calm, "was begun twice"),
    (a_restart, impact_of_nothing, "the journal has no start of it"),
    (a_restart, written_and_not_to_be_read, "though record"),
    (a_restart, disabled_though_read, "which was read 2.0 s before"),
    (a_restart, stumble, "answered 500"),
    (a_restart, gap, "numbers have gaps"),
)


@pytest.mark.parametrize(("make", "forge", "sentence"), FORGERIES, ids=[forge.__name__ for _, forge, _ in FORGERIES])
def test_a_forged_history_is_found_out(
    make: Callable[[], Story], forge: Callable[[Story], None], sentence: str
) -> None:
    story = make()
    forge(story)
    assert any(sentence in loss for loss in losses(story.told())), losses(story.told())


def test_what_the_journal_finds_wrong_with_itself_is_a_loss() -> None:
    history = a_restart().told()
    assert losses(replace(history, flaws=("record 3 was changed",))) == ["the journal says: record 3 was changed"]


def test_a_second_beginning_is_allowed_where_a_fault_lay_between() -> None:
    story = a_restart()
    impact_begun_twice_in_calm(story)
    story.notes.append(Trouble("kill", "a", 4.31, 4.35))
    assert losses(story.told()) == []


def test_who_may_not_be_sure_turns_readers_away() -> None:
    """Long after the last news, or while something was wrong with more than a relay's wires."""
    for second, kind in ((3.6, "relay killed"), (3.6, "wire cut"), (12.0, "relay cut off")):
        story = a_restart()
        story.notes.append(Sight("web", "a", NEWEST.date, second, second + 0.01, 503))
        story.notes.append(Trouble(kind, "a", 3.55, 3.65))
        assert losses(story.told()) == []
    story = a_restart()
    turned_away_by_who_was_sure(story)
    story.notes.append(Trouble("relay cut off", "a", 3.55, 3.65))
    assert losses(story.told()), "a relay that is cut off stays sure for a while"


def test_a_lagging_node_may_show_an_older_document_within_the_bound() -> None:
    story = a_restart()
    note = story.notes[_note(story, Sight)]
    assert isinstance(note, Sight)
    story.notes.append(replace(note, node="laggard", asked=6, answered=6.01))
    assert losses(story.told()) == []


def test_an_unknown_write_may_be_there_or_not() -> None:
    story = a_restart()
    place = _note(story, Write)
    note = story.notes[place]
    assert isinstance(note, Write)
    story.notes[place] = replace(note, outcome=Outcome.UNKNOWN, status=0, request_id="", told=())
    story.notes.append(replace(note, key="never-came", outcome=Outcome.UNKNOWN, request_id="", told=(), names=("x",)))
    assert losses(story.told()) == []


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.OK])
def test_an_approval_may_take_effect_late_only_where_its_client_had_no_answer(outcome: Outcome) -> None:
    """A node that sleeps finds the request when it wakes, long after the client has hung up."""
    story = Story()
    story.write(1, "create", ("web",), c.CreateVms(("web",), VmSpec(), next(SEEDS)))
    story.do(2, c.Pulse((("web", START + timedelta(seconds=2)),)), Origin("vm", "web", "first-read"))
    (event_id,) = story.write(3, "restart", ("web",), c.RestartVms(("web",), next(SEEDS)))
    story.write(7, "approve", (event_id,), c.Approve((event_id,), f"operator (operator-{len(story.notes)})"))
    note = story.notes[-1]
    assert isinstance(note, Write)
    story.notes[-1] = replace(note, asked=4, answered=5, outcome=outcome, status=0)
    found = [loss for loss in losses(story.told()) if "has no effect" in loss]
    assert bool(found) == (outcome is Outcome.OK)


def test_a_document_from_inside_a_transaction_is_a_loss() -> None:
    """Two restarts in one command are one change: nobody sees the first without the second."""
    story = Story()
    spec = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="pair")
    story.write(1, "create", ("one", "two"), c.CreateVms(("one", "two"), spec, next(SEEDS)))
    story.do(2, c.Pulse((("one", START + timedelta(seconds=2)),)), Origin("vm", "one", "first-read"))
    before = len(story.journal)
    story.write(3, "restart", ("one", "two"), c.RestartVms(("one", "two"), next(SEEDS)))
    region = Replay.of(story.journal[: before + 1]).regions[-1]
    body = encode_document(document_for(region, region.scopes["availability-set/pair"]), NEWEST).decode()
    story.notes.append(Sight("one", "a", NEWEST.date, 3.5, 3.6, 200, 2, body))
    found = losses(replace(story.told(), ended=START + timedelta(seconds=4)))
    assert any("only was inside of a transaction" in loss for loss in found), found
