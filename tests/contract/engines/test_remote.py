"""The remote engine keeps what every engine promises, over HTTP and over stdin and stdout; and each case can fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.remote.engine import RemoteEngine
from forewarn.engines.twin.engine import TwinEngine
from forewarn.plane.hands.engine import EngineFault, ErrandResult, Failed, Unknown, Warrant
from tests.contract.engines.bench import NOON, Permit
from tests.contract.engines.cases import CASES
from tests.contract.engines.remote_bench import RemoteBench
from tests.contract.engines.test_planted_bugs import PLANTS

WIRES = ("http", "stdin")


@contextmanager
def bench_on(
    wire: str, twin: type[TwinEngine] = TwinEngine, remote: type[RemoteEngine] = RemoteEngine
) -> Iterator[RemoteBench]:
    bench = RemoteBench(wire, twin, remote)
    try:
        yield bench
    finally:
        bench.close()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_remote_engine_keeps_the_promise_that(name: str, wire: str) -> None:
    with bench_on(wire) as bench:
        assert CASES[name].why_not(bench) == ""
        CASES[name].check(bench)


# Bugs of ours


class AsksNobody(RemoteEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        return super().carry_out(errand, Permit(again=warrant.again, seconds_left=warrant.left()))


class SilenceIsNo(RemoteEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        result = super().carry_out(errand, warrant)
        return Failed(result.why, lasting=True) if isinstance(result, Unknown) else result


class ForgetsThatItWasTried(RemoteEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        return super().carry_out(errand, Permit(seconds_left=warrant.left()))


class AbandonsNothing(RemoteEngine):
    def abandon(self, errand: Errand) -> None:
        """Forgets it."""


class NeverHints(RemoteEngine):
    def changes(self, host: str, cursor: str) -> Iterator[str]:
        yield ""


class TakesThemAlong(RemoteEngine):
    def close(self) -> None:
        with suppress(EngineFault):  # the second time it is closed already
            for seen in self.listing("alpha").machines:
                self.carry_out(Errand("1", ErrandKind.STOP, "twin", "alpha", NOON, ref=seen.ref), Permit())
        super().close()


OURS: dict[str, type[RemoteEngine]] = {
    "without_leave_nothing_is_touched": AsksNobody,
    "leave_is_asked_for_before_each_change": AsksNobody,
    "a_call_that_hangs_is_given_up_and_not_taken_for_a_failure": SilenceIsNo,
    "a_pause_that_was_tried_before_is_only_ever_ended": ForgetsThatItWasTried,
    "a_pause_that_is_abandoned_is_over": AbandonsNothing,
    "a_hint_follows_a_change": NeverHints,
    "no_machine_ends_with_the_engine": TakesThemAlong,
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", sorted(OURS))
def test_a_remote_engine_with_a_bug_breaks_the_promise_that(name: str, wire: str) -> None:
    with bench_on(wire, remote=OURS[name]) as bench, pytest.raises((AssertionError, pytest.fail.Exception)):
        CASES[name].check(bench)


# Bugs of the program at the other end. What hangs or closes on the wire it has no part in, so those three are above.

THEIRS = sorted(
    set(CASES)
    - {
        "a_call_that_hangs_is_given_up_and_not_taken_for_a_failure",
        "a_hint_follows_a_change",
        "no_machine_ends_with_the_engine",
    }
)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", THEIRS)
def test_a_program_with_a_bug_breaks_the_promise_that(name: str, wire: str) -> None:
    with bench_on(wire, PLANTS[name]) as bench, pytest.raises((AssertionError, pytest.fail.Exception)):
        CASES[name].check(bench)


def test_each_promise_has_its_bug_on_the_wire() -> None:
    assert set(THEIRS) | set(OURS) == set(CASES)
