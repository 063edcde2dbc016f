"""Who may approve a shared event, and whom an agent believes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from forewarn.guest.agent.barrier.lines import BarrierLine
from forewarn.guest.agent.barrier.members import Gathering, Heard, Ruling, is_shared, members, others, rule
from forewarn.guest.agent.barrier.words import CLOCKS_APART, PATH, SEAL_HEADER, Question, Seal
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.calling import call
from forewarn.guest.agent.inbox import Answered, Inbox, Message, Spoken
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.http1 import Response
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A", "Scheduled", "Reboot", ("_web-0", "WEB-1", "web-2"), NOON)
SECRET = b"0123456789abcdef"


def gathering(**said: tuple[str, float]) -> Gathering:
    names = {"web0": "web-0", "web1": "WEB-1", "web2": "web-2"}
    asked = dict.fromkeys(names.values(), 100.0)
    return Gathering({names[key]: Heard(*value) for key, value in said.items()}, asked, asked)


def test_members_are_named_as_they_name_themselves() -> None:
    assert members(EVENT) == ("web-0", "WEB-1", "web-2")
    assert others(EVENT, "web-1") == ("web-0", "web-2")
    assert is_shared(EVENT, "web-1")
    assert not is_shared(ScheduledEvent("A", "Scheduled", "Reboot", ("web-1",), NOON), "WEB-1")


@pytest.mark.parametrize(
    ("own_name", "heard", "tick", "patience", "expected"),
    [
        ("web-0", gathering(), 101, None, Ruling.WAIT),
        ("web-0", gathering(web1=("ready", 100)), 101, None, Ruling.WAIT),
        ("web-0", gathering(web1=("ready", 100), web2=("preparing", 100)), 101, None, Ruling.WAIT),
        ("web-0", gathering(web1=("ready", 100), web2=("ready", 100)), 101, None, Ruling.APPROVE),
        ("web-1", gathering(web0=("ready", 100), web2=("ready", 100)), 101, None, Ruling.LEAVE),
        # An answer is not believed for ever, and silence is waited out only where a patience is set.
        ("web-0", gathering(web1=("ready", 100), web2=("ready", 100)), 111, None, Ruling.WAIT),
        ("web-0", gathering(web1=("ready", 100), web2=("ready", 100)), 9999, None, Ruling.WAIT),
        ("web-0", gathering(web1=("ready", 155)), 159, 60, Ruling.WAIT),
        ("web-0", gathering(web1=("ready", 155)), 160, 60, Ruling.APPROVE),
        # The first is dead: the next that lives takes its part, and only one of them.
        ("web-1", gathering(web2=("ready", 155)), 160, 60, Ruling.APPROVE),
        ("web-2", gathering(web1=("ready", 155)), 160, 60, Ruling.LEAVE),
        # One that lives and is not ready is waited for beyond any patience.
        ("web-0", gathering(web1=("preparing", 999), web2=("ready", 999)), 1000, 60, Ruling.WAIT),
        ("web-0", gathering(web1=("declines", 999), web2=("ready", 999)), 1000, 60, Ruling.WAIT),
        ("web-0", gathering(web1=("unknown", 999), web2=("ready", 999)), 1000, 60, Ruling.WAIT),
        # One that agrees but will not approve is in nobody's way.
        ("web-1", gathering(web0=("agreed", 100), web2=("ready", 100)), 101, None, Ruling.APPROVE),
    ],
)
def test_the_first_that_lives_approves_when_all_are_ready(
    own_name: str, heard: Gathering, tick: float, patience: float | None, expected: Ruling
) -> None:
    assert rule(EVENT, own_name, heard, tick, patience)[0] is expected


@pytest.mark.parametrize(
    ("heard", "asked_at", "tick", "asks"),
    [
        (gathering(), 100, 101, True),
        (gathering(), 100, 100.05, False),
        (gathering(web1=("preparing", 100)), 100, 101, True),
        (gathering(web1=("ready", 100)), 100, 101, False),
        (gathering(web1=("ready", 100)), 100, 103, True),
    ],
)
def test_one_that_speaks_is_asked_at_once_unless_it_is_known_to_be_ready(
    heard: Gathering, asked_at: float, tick: float, asks: bool
) -> None:
    asked = {"WEB-1": asked_at, "web-2": asked_at}
    hinted = Gathering(heard.heard, asked, asked).with_hint("web-1", tick)
    assert hinted.to_ask(["WEB-1", "web-2"], asked_at + 0.2) == (["WEB-1"] if asks else [])
    assert hinted.heard == heard.heard


def test_of_more_than_can_be_asked_at_once_none_is_left_out() -> None:
    names = [f"web-{number}" for number in range(100)]
    found = Gathering()
    for turn in range(4):
        for name in found.to_ask(names, float(turn))[:32]:
            found = found.with_question(name, float(turn))
    assert set(found.asked) == set(names)


def test_patience_with_a_member_begins_when_it_was_first_asked() -> None:
    found = gathering(web1=("ready", 1000))
    unasked = Gathering(found.heard, {}, {"WEB-1": 100.0})
    assert rule(EVENT, "web-0", unasked, 1001, 60)[0] is Ruling.WAIT


def test_a_seal_of_strange_letters_is_just_not_ours() -> None:
    _, body, _ = _asked(Seal(SECRET, MACHINE.chance))
    assert Seal(SECRET, MACHINE.chance).read_question(body, "\xe9", NOON) == "the seal is not ours"


def _asked(seal: Seal) -> tuple[Question, bytes, str]:
    return seal.question("web-0", "web-1", "A", "ready", NOON)


def test_a_question_is_believed_once() -> None:
    question, body, seal = _asked(Seal(SECRET, MACHINE.chance))
    other = Seal(SECRET, MACHINE.chance)
    assert other.read_question(body, seal, NOON) == question
    assert other.read_question(body, seal, NOON) == "it was asked before"


def test_a_question_from_another_time_is_not_believed() -> None:
    _, body, seal = _asked(Seal(SECRET, MACHINE.chance))
    late = NOON + CLOCKS_APART + timedelta(seconds=1)
    assert Seal(SECRET, MACHINE.chance).read_question(body, seal, late) == "its time is not now; are the clocks right?"


@pytest.mark.parametrize("spoil", [b"", b"{}", b'{"asker":"web-0"}'])
def test_a_question_that_was_changed_is_not_believed(spoil: bytes) -> None:
    _, _, seal = _asked(Seal(SECRET, MACHINE.chance))
    assert Seal(SECRET, MACHINE.chance).read_question(spoil, seal, NOON) == "the seal is not ours"


def test_a_question_under_another_secret_is_not_believed() -> None:
    _, body, seal = _asked(Seal(b"another secret of some length", MACHINE.chance))
    assert Seal(SECRET, MACHINE.chance).read_question(body, seal, NOON) == "the seal is not ours"


def test_an_answer_is_believed_for_its_own_question_and_member_only() -> None:
    asker, member = Seal(SECRET, MACHINE.chance), Seal(SECRET, MACHINE.chance)
    question, _, _ = _asked(asker)
    again, _, _ = _asked(asker)
    body, seal = member.answer(question, "web-1", "ready")
    assert asker.read_answer(question, body, seal) == "ready"
    assert asker.read_answer(again, body, seal) is None
    assert asker.read_answer(question, body.replace(b"ready", b"steady"), seal) is None
    body, seal = member.answer(question, "web-2", "ready")
    assert asker.read_answer(question, body, seal) is None


def test_what_seals_a_question_does_not_seal_an_answer() -> None:
    seal = Seal(SECRET, MACHINE.chance)
    question, body, mark = _asked(seal)
    assert seal.read_answer(question, body, mark) is None


class Party:
    """Two agents' ends of the barrier on real sockets."""

    def __init__(self, secrets: tuple[bytes, bytes] = (SECRET, SECRET), stance: str = "ready") -> None:
        self.inbox: Inbox = MACHINE.threads.queue()
        self.other_inbox: Inbox = MACHINE.threads.queue()
        self.metrics = Metrics(MACHINE.threads)
        self.other = BarrierLine(MACHINE, secrets[1], "127.0.0.1:1/{name}", self.other_inbox, self.metrics)
        self.where = self.other.open("127.0.0.1:0", "web-1", lambda key: stance if key == "A" else "unknown")
        self.line = BarrierLine(MACHINE, secrets[0], f"{self.where}/{{name}}", self.inbox, Metrics(MACHINE.threads))
        self.line.open("127.0.0.1:0", "web-0", lambda key: "ready")

    def __enter__(self) -> Party:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()
        self.other.close()

    def ask(self, name: str = "web-1", key: str = "A") -> Message:
        self.line.ask(key, name, "ready")
        return self.inbox.get(timeout=20)


def test_a_member_that_is_asked_answers_and_knows_who_spoke() -> None:
    with Party() as party:
        assert party.ask() == Answered("A", "web-1", "ready")
        assert party.other_inbox.get(timeout=20) == Spoken("A", "web-0")
        assert party.ask(key="B") == Answered("B", "web-1", "unknown")


def test_a_member_with_another_secret_is_silent() -> None:
    with Party((SECRET, b"fedcba9876543210")) as party:
        assert party.ask() == Answered("A", "web-1", None)
        assert party.metrics.value("barrier_total", "rejected") == 1


def test_a_member_that_answers_for_another_is_silent() -> None:
    with Party() as party:
        assert party.ask(name="web-2") == Answered("A", "web-2", None)


def test_a_member_at_whose_address_no_agent_listens_counts_as_silent() -> None:
    with Party() as party:
        party.other.close()
        assert party.ask() == Answered("A", "web-1", None)


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [("GET", PATH, 404), ("POST", "/", 404), ("POST", PATH, 403), ("POST", f"/x{PATH}", 403)],
)
def test_strangers_learn_nothing(verb: str, path: str, status: int) -> None:
    with Party() as party:
        headers = {SEAL_HEADER: "0" * 64}
        answer = call(
            MACHINE.sockets, verb, f"http://{party.where}{path}", Budget(MACHINE, 20), headers=headers, body=b"{}"
        )
        assert isinstance(answer, Response)
        assert (answer.status, answer.body) == (status, b"")
