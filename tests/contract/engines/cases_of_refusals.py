"""What every engine promises where it is refused, hears nothing, or is interrupted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from forewarn.core.machines.values import ErrandKind, MachinePower
from forewarn.plane.hands.engine import Done, EngineFault, Failed, NotYet, Unknown
from tests.contract.engines.bench import EngineBench, Permit, carry_through, done, errand_for, running
from tests.contract.engines.promises import RUNNING, case, one


@case(ErrandKind.RESTART, mishaps=("refused",))
def a_refusal_is_passed_on_word_for_word_and_nothing_was_changed(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    sentence = "cannot set up guest memory 'pc.ram': Cannot allocate memory"
    bench.mishap("refused", sentence)
    result = bench.engine.carry_out(errand_for(bench, ErrandKind.RESTART, machine), Permit())
    assert isinstance(result, Failed), result
    assert sentence in result.why
    assert one(bench, machine.ref) == machine


@case(ErrandKind.CREATE, mishaps=("refused for good",))
def nothing_is_left_of_a_machine_that_could_not_be_made_and_its_name_is_free(bench: EngineBench) -> None:
    """It is made by the first change, and refused by the second, its start."""

    def strike(asked: int) -> bool:
        if asked == 2:
            bench.mishap("refused for good", 'exec: "wrok": executable file not found in $PATH')
        return True

    errand = structs.replace(errand_for(bench, ErrandKind.CREATE, None), ref="web-1")
    permit = Permit(ask=strike)
    result = carry_through(bench, errand, permit)
    assert isinstance(result, Failed), result
    assert "executable file not found" in result.why
    assert result.lasting
    assert permit.asked > 2  # leave was asked for before that too
    assert (bench.truth("web-1"), bench.left_of("web-1")) == ((), ())
    again = structs.replace(errand_for(bench, ErrandKind.CREATE, None, 2), ref="web-1")
    assert done(carry_through(bench, again)).sighting.power is RUNNING


@case(core=True)
def what_cannot_be_done_to_a_machine_that_is_gone_is_refused_for_good(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.do("remove", machine.ref, machine.host)
    for kind in sorted(bench.engine.kinds & {ErrandKind.MIGRATE, ErrandKind.PAUSE, ErrandKind.RESTART}):
        result = carry_through(bench, errand_for(bench, kind, machine), Permit(seconds_left=5.0))
        assert isinstance(result, Failed), (kind, result)
        assert result.lasting
        assert result.why
    assert bench.truth(machine.ref) == ()


@case(ErrandKind.RESTART, mishaps=("hangs",))
def a_call_that_hangs_is_given_up_and_not_taken_for_a_failure(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    errand = errand_for(bench, ErrandKind.RESTART, machine)
    bench.mishap("hangs")
    assert isinstance(bench.engine.carry_out(errand, Permit()), Unknown)
    assert one(bench, machine.ref) == machine
    assert done(carry_through(bench, errand, Permit(again=True))).sighting.boot_mark != machine.boot_mark


@case(ErrandKind.RESTART, mishaps=("silent host",))
def of_a_host_that_is_silent_nothing_is_said(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.mishap("silent host")
    with pytest.raises(EngineFault, match=machine.host):
        bench.engine.listing(machine.host)
    result = bench.engine.carry_out(errand_for(bench, ErrandKind.RESTART, machine), Permit())
    assert isinstance(result, Unknown | NotYet), result
    assert one(bench, machine.ref) == machine


@case(ErrandKind.REDEPLOY, mishaps=("silent host",))
def a_machine_on_a_silent_host_is_started_nowhere_else(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.mishap("silent host")
    result = bench.engine.carry_out(errand_for(bench, ErrandKind.REDEPLOY, machine), Permit())
    assert isinstance(result, Unknown | NotYet), result
    assert bench.truth(machine.ref) == (machine,)


@case(ErrandKind.REDEPLOY, mishaps=("hosts apart",), core=True)
def what_somebody_has_moved_to_another_host_is_not_started_beside_itself(bench: EngineBench) -> None:
    """Asked for where it was before, or where it is to be, by whatever would start it."""
    machine = bench.make("web-1", bench.hosts[-1])
    (seen,) = (each for each in bench.engine.listing(machine.host).machines if each.ref == machine.ref)
    starting = {ErrandKind.START, ErrandKind.RESTART, ErrandKind.REIMAGE, ErrandKind.REDEPLOY} & bench.engine.kinds
    for number, kind in enumerate(sorted(starting), 1):
        errand = errand_for(bench, kind, replace(machine, host=bench.hosts[0]), number, to=bench.hosts[0])
        errand = structs.replace(errand, definition=seen.definition)
        result = bench.engine.carry_out(errand, Permit())
        assert bench.truth(machine.ref) == (machine,), (kind, result)
        assert not isinstance(result, Done), (kind, result)


@case(ErrandKind.REDEPLOY, mishaps=("silent host", "hosts apart"))
def what_is_not_where_it_was_is_started_nowhere_while_a_host_that_may_have_it_is_silent(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.mishap("silent host")
    missing = replace(machine, host=bench.hosts[-1])
    for number, kind in enumerate(sorted({ErrandKind.START, ErrandKind.REDEPLOY} & bench.engine.kinds), 1):
        errand = errand_for(bench, kind, missing, number, to=bench.hosts[-1])
        result = bench.engine.carry_out(errand, Permit())
        assert isinstance(result, Unknown | NotYet), (kind, result)
        assert bench.truth(machine.ref) == (machine,), (kind, result)


@case(ErrandKind.REDEPLOY, core=True)
def what_is_gone_can_be_made_again_where_it_was(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    (seen,) = (each for each in bench.engine.listing(machine.host).machines if each.ref == machine.ref)
    bench.do("remove", machine.ref, machine.host)
    errand = structs.replace(
        errand_for(bench, ErrandKind.REDEPLOY, machine, to=machine.host), definition=seen.definition
    )
    told = done(carry_through(bench, errand)).sighting
    now = one(bench, machine.ref)
    assert (now.host, now.power, now.boot_mark) == (machine.host, MachinePower.RUNNING, told.boot_mark)
    assert now.boot_mark != machine.boot_mark
    assert done(carry_through(bench, errand, Permit(again=True))).sighting.boot_mark == now.boot_mark


@case(ErrandKind.REDEPLOY, mishaps=("answer lost", "hangs"))
def no_machine_runs_twice_wherever_a_redeployment_is_interrupted(bench: EngineBench) -> None:
    for number, what in enumerate(("answer lost", "hangs"), 1):
        for turn in range(1, 5):
            machine = bench.make(f"web-{number}-{turn}", bench.hosts[0])
            errand = errand_for(bench, ErrandKind.REDEPLOY, machine, number)

            def strike(asked: int, *, what: str = what, turn: int = turn) -> bool:
                if asked == turn:
                    bench.mishap(what)
                return True

            permit = Permit(ask=strike)
            for _ in range(turn + 6):
                result = bench.engine.carry_out(errand, permit)
                assert len(running(bench.truth(machine.ref))) <= 1
                if isinstance(result, Done):
                    break
            assert isinstance(result, Done), result
            assert [copy.host for copy in running(bench.truth(machine.ref))] == [bench.hosts[-1]]
