"""What the remote engine makes of answers: leave, forgotten errands, cursors, and programs that end."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from forewarn.core.machines.values import Errand, ErrandKind, MachinePower
from forewarn.engines.remote.engine import RemoteEngine
from forewarn.engines.remote.http_wire import HttpWire
from forewarn.engines.remote.program_wire import ProgramWire
from forewarn.engines.remote.wire import WireAnswer
from forewarn.plane.hands.engine import Done, EngineFault, Failed, NotYet, Unknown, Way, is_identity_safe
from tests.contract.engines.bench import NOON, Permit
from tests.waiting import until

CARD = {"protocol": 1, "name": "x", "kinds": ["restart", "pause", "brew"], "hosts": ["alpha"], "offers": []}
SEEN = {"sighting": {"ref": "web-1", "host": "alpha", "power": "running", "boot_mark": "2"}}
MIGRATE = Errand("e 1/2", ErrandKind.MIGRATE, "remote", "alpha", NOON, ref="web-1", to="beta")
RESTART = Errand("e 1/2", ErrandKind.RESTART, "remote", "alpha", NOON, ref="web-1", boot_mark="1")


class Script:
    """Answers in the order in which they stand; what was asked is kept."""

    where = "a test"

    def __init__(self, *answers: tuple[int, Any], card: Any = CARD) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self._answers, self._card = list(answers), card

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        if target == "/v1/engine":
            return WireAnswer(200, json.dumps(self._card).encode())
        self.asked.append((method, target, json.loads(body) if body else None))
        status, told = self._answers.pop(0)
        return WireAnswer(status, b"" if told is None else json.dumps(told).encode())

    def close(self) -> None: ...


def test_leave_is_given_in_the_words_in_which_it_was_asked_for_and_only_then() -> None:
    wire, permit = Script((202, {"asks": "stop #1"}), (202, {"asks": "start"}), (200, SEEN)), Permit()
    result = RemoteEngine("remote", wire).carry_out(RESTART, permit)
    assert isinstance(result, Done)
    assert result.sighting.power is MachinePower.RUNNING
    assert [each[2].get("leave") for each in wire.asked] == [None, "stop #1", "start"]
    assert {each[1] for each in wire.asked} == {"/v1/errands/e%201%2F2"}
    assert permit.asked == 2


def test_what_is_under_way_is_looked_after_and_not_put_again() -> None:
    wire = Script((202, {"why": "task 7", "again_after": 3}), (202, {"why": "task 7"}), (200, SEEN))
    engine = RemoteEngine("remote", wire)
    first = engine.carry_out(RESTART, Permit())
    assert first == NotYet("task 7", 3.0)
    assert isinstance(engine.carry_out(RESTART, Permit(again=True)), NotYet)
    assert isinstance(engine.carry_out(RESTART, Permit(again=True)), Done)
    assert [each[0] for each in wire.asked] == ["PUT", "GET", "GET"]


def test_an_errand_that_was_forgotten_is_unknown_and_then_asked_for_again() -> None:
    wire = Script((202, {"why": "task 7"}), (404, {"why": "who?"}), (200, SEEN))
    engine = RemoteEngine("remote", wire)
    engine.carry_out(RESTART, Permit())
    forgotten = engine.carry_out(RESTART, Permit(again=True))
    assert isinstance(forgotten, Unknown)
    assert "forgotten" in forgotten.why
    assert isinstance(engine.carry_out(RESTART, Permit(again=True)), Done)
    assert [each[0] for each in wire.asked] == ["PUT", "GET", "PUT"]
    assert wire.asked[2][2]["again"] is True


def test_another_errand_on_that_machine_is_waited_for() -> None:
    wire = Script((409, {"why": "errand 5 is open"}))
    result = RemoteEngine("remote", wire).carry_out(RESTART, Permit())
    assert isinstance(result, NotYet)
    assert "errand 5 is open" in result.why


def test_a_refusal_says_whether_it_lasts() -> None:
    wire = Script((422, {"why": "no room", "lasting": False}), (422, {"why": "no disk"}))
    engine = RemoteEngine("remote", wire)
    assert engine.carry_out(RESTART, Permit()) == Failed("remote refuses: no room", lasting=False)
    assert engine.carry_out(RESTART, Permit()) == Failed("remote refuses: no disk", lasting=True)


def test_what_the_engine_cannot_do_it_is_not_asked_for_and_what_nobody_knows_is_left_out() -> None:
    wire = Script()
    engine = RemoteEngine("remote", wire)
    result = engine.carry_out(MIGRATE, Permit())
    assert isinstance(result, Failed)
    assert result.lasting
    assert engine.kinds == {ErrandKind.RESTART, ErrandKind.PAUSE}
    assert wire.asked == []


def test_of_an_engine_that_was_never_heard_nothing_is_ruled_out(tmp_path: Path) -> None:
    engine = RemoteEngine("remote", HttpWire(f"unix://{tmp_path}/nowhere"))
    assert engine.kinds == frozenset(ErrandKind) - {ErrandKind.FENCE}


def test_a_version_that_is_not_spoken_here_is_said() -> None:
    with pytest.raises(EngineFault, match="version 2"):
        RemoteEngine("remote", Script(card={**CARD, "protocol": 2})).listing("alpha")


def test_hints_go_on_from_the_last_cursor_and_nothing_is_no_hint() -> None:
    card = {**CARD, "offers": ["wait"]}
    wire = Script((200, {"cursor": "b"}), (200, {"cursor": "c"}), (503, {"why": "gone"}), card=card)
    hints = RemoteEngine("remote", wire).changes("alpha", "a b")
    assert list(islice(hints, 2)) == ["b", "c"]
    assert [each[1].partition("?")[2] for each in wire.asked] == ["after=a+b&wait=25", "after=b&wait=25"]
    with pytest.raises(EngineFault, match="gone"):
        next(hints)


def test_an_engine_without_a_place_for_marks_is_not_asked_to_keep_one() -> None:
    engine = RemoteEngine("remote", Script())
    engine.adopt("alpha", "web-1", "web-1", "9")
    engine.release("alpha", "web-1")
    assert not is_identity_safe(engine.examine("alpha", "web-1", Way.ADDRESS))


# Programs

_ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["path"] == "/die": sys.exit(7)
    if asked["path"] == "/hang": continue
    print(json.dumps({"id": asked["id"], "status": 200, "body": asked["path"]}), flush=True)
open(sys.argv[1], "w").write("ended")
"""


def _echo(mark: Path) -> ProgramWire:
    return ProgramWire([sys.executable, "-S", "-E", "-c", _ECHO, str(mark)])


def test_a_program_that_ends_is_started_again_and_what_was_asked_is_not_known(tmp_path: Path) -> None:
    wire = _echo(tmp_path / "mark")
    try:
        assert wire.ask("GET", "/a", None, 20.0).body == b'"/a"'
        with pytest.raises(EngineFault, match=r"status 7.*may have been done"):
            wire.ask("GET", "/die", None, 20.0)
        with pytest.raises(EngineFault, match="started again in"):
            wire.ask("GET", "/b", None, 20.0)

        def answered() -> bytes:
            try:
                return wire.ask("GET", "/b", None, 20.0).body
            except EngineFault:
                return b""

        assert until(answered) == b'"/b"'
    finally:
        wire.close()


def test_a_question_has_a_deadline_and_the_others_go_on(tmp_path: Path) -> None:
    wire = _echo(tmp_path / "mark")
    try:
        assert wire.ask("GET", "/a", None, 20.0).status == 200
        with pytest.raises(EngineFault, match="did not answer within"):
            wire.ask("GET", "/hang", None, 0.05)
        assert wire.ask("GET", "/b", None, 20.0).body == b'"/b"'
    finally:
        wire.close()


def test_a_program_that_answers_nothing_any_more_is_ended(tmp_path: Path) -> None:
    wire = _echo(tmp_path / "mark")
    try:
        assert wire.ask("GET", "/a", None, 20.0).status == 200
        for _ in range(4):
            with pytest.raises(EngineFault, match="did not answer within"):
                wire.ask("GET", "/hang", None, 0.02)
        with pytest.raises(EngineFault, match="started again in"):
            wire.ask("GET", "/b", None, 20.0)
    finally:
        wire.close()


def test_a_program_ends_with_the_server_by_the_end_of_its_stdin(tmp_path: Path) -> None:
    wire = _echo(tmp_path / "mark")
    assert wire.ask("GET", "/a", None, 20.0).status == 200
    wire.close()
    assert (tmp_path / "mark").read_text() == "ended"
    with pytest.raises(EngineFault, match="closed"):
        wire.ask("GET", "/a", None, 1.0)


def test_a_program_that_does_not_read_holds_up_nobody_for_longer_than_the_deadline() -> None:
    """A question that does not fit into its pipe is given up in its time; half a line was written, so it is ended."""
    wire = ProgramWire([sys.executable, "-S", "-E", "-c", "import time; time.sleep(60)"])
    try:
        for sentence in ("does not read what it is asked", "started again in"):
            with pytest.raises(EngineFault, match=sentence):
                wire.ask("PUT", "/a", b'"%b"' % (b"x" * 200_000), 0.1)
    finally:
        wire.close()


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    wire = ProgramWire([str(tmp_path / "nowhere")])
    with pytest.raises(EngineFault, match="could not be started: No such file"):
        wire.ask("GET", "/a", None, 1.0)
