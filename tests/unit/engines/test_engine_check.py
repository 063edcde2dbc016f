"""``forewarn engine check`` finds each rule that an engine breaks, and nothing in one that keeps them all."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_server import Answer, http_server
from twin_engine import ServedEngine

from forewarn.cli.main import main
from forewarn.core.machines.values import ErrandKind
from forewarn.engines.remote.checking.ground import CheckGround, MachineToTry, RuleVerdict
from forewarn.engines.remote.checking.running import RULES, check_engine
from forewarn.engines.remote.http_wire import HttpWire
from forewarn.engines.remote.wire import WireAnswer
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinHosts

ENGINE = Path(__file__).parents[3] / "examples" / "engines" / "twin_engine.py"
HOSTS = ("alpha", "beta")
ALL = (ErrandKind.PAUSE, ErrandKind.RESTART, ErrandKind.STOP, ErrandKind.MIGRATE)


class Good(ServedEngine):
    """What the planted ones are made of."""

    def __init__(self, pretended: TwinHosts) -> None:
        self.pretended = pretended
        super().__init__(TwinEngine(pretended), HOSTS)

    def boot(self) -> None:
        for (host, ref), machine in sorted(self.pretended.machines.items()):
            if ref == "web-0" and machine.power == "running":
                self.pretended.boot(ref, host)


PLANTS: dict[str, type[Good]] = {}  # by the rule that it breaks


def breaks(rule: str) -> Callable[[type[Good]], type[Good]]:
    def keep(engine: type[Good]) -> type[Good]:
        PLANTS[rule] = engine
        return engine

    return keep


@breaks("It says who it is, what it can do, and which hosts it has")
class HasNoHosts(Good):
    def __init__(self, pretended: TwinHosts) -> None:
        super().__init__(pretended)
        self.hosts = ()


@breaks("It lists the machines of each of its hosts")
class ListsOnlyTheFirst(Good):
    def listing(self, host: str) -> Answer:
        return super().listing("alpha")


@breaks("No two of its machines have the same name")
class ListsOneTwice(Good):
    def listing(self, host: str) -> Answer:
        status, told = super().listing("alpha")
        return status, {**(told or {}), "host": host, "machines": [{"ref": "web-0", "power": "running"}]}


@breaks("A machine that runs has a boot mark, which stays")
class MarksAreTimes(Good):
    def listing(self, host: str) -> Answer:
        status, told = super().listing(host)
        for machine in (told or {})["machines"]:
            machine["boot_mark"] = str(time.monotonic())
        return status, told


@breaks("What is not there is answered by 404")
class OtherIsFine(Good):
    def other(self, method: str, parts: list[str], body: dict[str, Any]) -> Answer:
        return 200, {}


@breaks("An errand that it does not know is answered by 404")
class KnowsEveryErrand(Good):
    def state(self, errand: str, wait: float) -> Answer:
        return 202, {"why": "soon"}


@breaks("A cursor that it does not know is answered by 200")
class SaysNothingOfChanges(Good):
    def changes(self, host: str, after: str, wait: float) -> Answer:
        time.sleep(min(wait, 0.2))
        return 204, None


@breaks("It answers others while it holds a question")
class OneAtATime(Good):
    busy = threading.Lock()

    def changes(self, host: str, after: str, wait: float) -> Answer:
        with self.busy:
            time.sleep(2 * wait)
            return 200, {"cursor": "x"}

    def listing(self, host: str) -> Answer:
        with self.busy:
            return super().listing(host)


@breaks("Nonsense is refused, and it goes on")
class TakesAnything(Good):
    def __init__(self, pretended: TwinHosts) -> None:
        super().__init__(pretended)
        self.kinds = (*self.kinds, "brew")

    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        return (202, {"why": "soon"}) if wanted["kind"] == "brew" else super().put(errand, wanted)


@breaks("What cannot be done to a machine that is gone is refused for good, in a sentence")
class WaitsForWhatIsGone(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        gone = not any(ref == wanted.get("ref") for _, ref in self.pretended.machines)
        return (202, {"why": "soon"}) if gone else super().put(errand, wanted)


@breaks("Without leave nothing is touched")
class NeedsNoLeave(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        if wanted["kind"] == "restart" and not wanted.get("again"):
            self.boot()
        return super().put(errand, wanted)


@breaks("A leave for something else is not taken")
class AnyLeaveWillDo(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        return super().put(errand, {**wanted, "leave": self._words(wanted)} if wanted.get("leave") else wanted)


@breaks("A pause lasts until its end, and keeps the memory")
class PausesByRestarting(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        status, told = super().put(errand, wanted)
        if wanted["kind"] == "pause" and status == 200:
            self.boot()
        return status, told


@breaks("A pause that was asked for before is not begun")
class PausesAgain(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        return super().put(errand, {**wanted, "again": False})


@breaks("A restart gives another boot mark, and is done once")
class RestartsByTheRequest(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        if wanted["kind"] == "restart" and wanted.get("again"):
            self.boot()
        return super().put(errand, wanted)


@breaks("A machine is stopped, and started again")
class StopsNothing(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        if wanted["kind"] == "stop" and wanted.get("leave"):
            return 200, {"sighting": {"ref": wanted["ref"], "host": wanted["host"], "power": "off"}}
        return super().put(errand, wanted)


@breaks("A migration keeps the memory, and leaves nothing behind")
class MigratesByRestarting(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        status, told = super().put(errand, wanted)
        if wanted["kind"] == "migrate" and status == 200:
            self.boot()
            return super().put(errand, wanted)
        return status, told


class Stranger:
    """An engine that answers whoever asks."""

    where = "a test"

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        return WireAnswer(200, b"{}")

    def close(self) -> None: ...


@contextmanager
def ground_on(folder: Path, kind: type[Good]) -> Iterator[CheckGround]:
    pretended = TwinHosts(HOSTS, elapsed=time.monotonic)
    pretended.put("web-0", "alpha", vm="web-0")
    server = http_server(kind(pretended), str(folder / "s"))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    wire = HttpWire(f"unix://{folder}/s")
    try:
        yield CheckGround(wire, MachineToTry("alpha", "web-0", ALL), patience=20, pause_seconds=0.4, held_seconds=0.4)
    finally:
        wire.close()
        server.shutdown()
        server.server_close()


def test_a_good_engine_breaks_no_rule(tmp_path: Path) -> None:
    with ground_on(tmp_path, Good) as ground:
        found = check_engine(ground, lambda rule: None)
    assert {rule.rule: rule.why for rule in found if rule.verdict is not RuleVerdict.HOLDS} == {
        "Without the right token nothing is told": "only https has a token"
    }


@pytest.mark.parametrize("rule", sorted(PLANTS))
def test_an_engine_is_found_out_that_breaks_the_rule(rule: str, tmp_path: Path) -> None:
    with ground_on(tmp_path, PLANTS[rule]) as ground:
        found = {each.rule: each for each in check_engine(ground, lambda rule: None)}
    assert found[rule].verdict is RuleVerdict.BROKEN
    assert found[rule].why


def test_an_engine_is_found_out_that_tells_strangers(tmp_path: Path) -> None:
    with ground_on(tmp_path, Good) as ground:
        ground.stranger = Stranger()
        found = {each.rule: each.verdict for each in check_engine(ground, lambda rule: None)}
    assert found["Without the right token nothing is told"] is RuleVerdict.BROKEN


def test_each_rule_has_an_engine_that_breaks_it() -> None:
    assert set(PLANTS) | {"It answers", "Without the right token nothing is told"} == {rule for rule, _ in RULES}


class Untouched(Good):
    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        assert not wanted.get("leave")
        assert wanted.get("ref") != "web-0"
        return super().put(errand, wanted)


def test_without_a_machine_that_was_named_none_is_asked_about(tmp_path: Path) -> None:
    with ground_on(tmp_path, Untouched) as ground:
        ground.machine = None
        found = check_engine(ground, lambda rule: None)
    assert not [rule for rule in found if rule.verdict is RuleVerdict.BROKEN]
    assert sum(rule.verdict is RuleVerdict.NOT_TRIED for rule in found) == 8


# The command


def _program(*more: str) -> list[str]:
    return ["--program", sys.executable, str(ENGINE), "--machine", "alpha/web-0", *more]


def test_the_command_tells_what_holds_and_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "check", "--machine", "alpha/web-0", "--do", "restart", *_program()]) == 0
    told = capsys.readouterr().out
    assert told.startswith("To web-0 at alpha this will be done, where the engine can:\n  restart it, once\n")
    assert "holds      It ends when its stdin does." in told
    assert "not tried  A pause lasts until its end" in told
    assert max(len(line) for line in told.splitlines()) <= 100


def test_the_command_as_json_ends_with_1_where_a_rule_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    program = [
        "--program",
        sys.executable,
        "-S",
        "-c",
        "import sys\nfor line in sys.stdin: print('nonsense', flush=True)",
    ]
    assert main(["engine", "check", "--json", *program]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["broken"] == 1
    assert told["rules"][0]["rule"] == "It answers"


def test_a_dry_run_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "check", "--dry-run", "--machine", "alpha/web-0", "--program", "/nowhere/at/all"]) == 0
    assert "pause it for 3 s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "name an engine's URL, or a program"),
        (("unix:///x", "--program", "y"), "one of the two"),
        (("http://127.0.0.1:1",), "is neither"),
        (("https://127.0.0.1:1",), "wants a token"),
        (("unix:///x", "--machine", "web-0"), "is not a host and a machine"),
        (("unix:///x", "--do", "delete"), "'delete' is not tried"),
        (("unix:///x", "--patience", "0"), "is not a number of seconds"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["engine", "check", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_an_engine_that_does_not_answer_is_one_broken_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "check", f"unix://{tmp_path}/nowhere"]) == 1
    assert "Nobody answers" in capsys.readouterr().out
