"""What every engine promises: cases that take a bench. ``CORE`` is what real platforms run, the rest runs in memory."""

from __future__ import annotations

from collections.abc import Callable

from forewarn.core.machines.values import ErrandKind, SeenWhy
from forewarn.plane.hands.engine import Done, NotYet, Unknown, Way
from tests.contract.engines import cases_of_refusals
from tests.contract.engines.bench import Copy, EngineBench, Permit, carry_through, done, errand_for, running
from tests.contract.engines.promises import CASES, GONE, OFF, PAUSED, RUNNING, case, made_ready, one, only

__all__ = ["CASES", "cases_of_refusals"]  # with those of the other module, which stand in CASES once it is imported

# Each kind is satisfied


@case(ErrandKind.CREATE, core=True)
def a_machine_is_made_and_runs_where_it_is_to_be(bench: EngineBench) -> None:
    errand = errand_for(bench, ErrandKind.CREATE, None)
    seen = done(carry_through(bench, errand)).sighting
    assert (seen.power, seen.host) == (RUNNING, errand.to)
    assert [(copy.power, copy.host, copy.boot_mark) for copy in bench.truth(seen.ref)] == [
        (RUNNING, errand.to, seen.boot_mark)
    ]


@case(ErrandKind.STOP, ErrandKind.START, core=True)
def a_machine_is_stopped_and_started_at_its_host(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    assert done(carry_through(bench, errand_for(bench, ErrandKind.STOP, machine))).sighting.power is OFF
    stopped = one(bench, machine.ref)
    assert (stopped.power, stopped.host) == (OFF, machine.host)
    seen = done(carry_through(bench, errand_for(bench, ErrandKind.START, stopped, 2))).sighting
    assert (seen.power, seen.host) == (RUNNING, bench.hosts[0])
    assert one(bench, machine.ref).boot_mark not in ("", machine.boot_mark)


@case(ErrandKind.OFF, ErrandKind.START)
def a_machine_that_is_off_runs_nowhere_and_can_be_started_again(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    assert done(carry_through(bench, errand_for(bench, ErrandKind.OFF, machine))).sighting.power is OFF
    assert not running(bench.truth(machine.ref))
    start = errand_for(bench, ErrandKind.START, Copy(machine.ref, "", OFF, machine.boot_mark), 2)
    assert done(carry_through(bench, start)).sighting.power is RUNNING
    assert len(running(bench.truth(machine.ref))) == 1


@case(ErrandKind.DELETE, core=True)
def a_machine_that_is_deleted_is_gone_and_deleting_it_again_is_fine(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    errand = errand_for(bench, ErrandKind.DELETE, machine)
    for _ in range(2):
        assert done(carry_through(bench, errand)).sighting.power is GONE
        assert bench.truth(machine.ref) == ()


@case(ErrandKind.RESTART, core=True)
def a_restart_gives_another_boot_mark(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    seen = done(carry_through(bench, errand_for(bench, ErrandKind.RESTART, machine))).sighting
    now = one(bench, machine.ref)
    assert (now.power, now.host) == (RUNNING, machine.host)
    assert seen.boot_mark == now.boot_mark != machine.boot_mark


@case(ErrandKind.RESTART)
def a_restart_of_a_machine_that_is_off_starts_it(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.do("stop", machine.ref, machine.host)
    assert done(carry_through(bench, errand_for(bench, ErrandKind.RESTART, machine))).sighting.power is RUNNING
    assert one(bench, machine.ref).boot_mark != machine.boot_mark


@case(ErrandKind.PAUSE, core=True)
def a_pause_begins_at_once_lasts_until_its_end_and_keeps_the_memory(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    errand, permit = errand_for(bench, ErrandKind.PAUSE, machine), Permit(seconds_left=5.0)
    for _ in range(2):
        result = bench.engine.carry_out(errand, permit)
        assert isinstance(result, NotYet), result
        assert 0 < result.again_after <= 5.0
        assert one(bench, machine.ref).power is PAUSED
        permit.again = True
    permit.seconds_left = 0.0
    assert done(carry_through(bench, errand, permit)).sighting.power is RUNNING
    assert one(bench, machine.ref) == machine


@case(ErrandKind.MIGRATE, core=True)
def a_migration_moves_a_machine_and_keeps_its_memory(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    seen = done(carry_through(bench, errand_for(bench, ErrandKind.MIGRATE, machine))).sighting
    assert (seen.power, seen.host, seen.boot_mark) == (RUNNING, bench.hosts[-1], machine.boot_mark)
    assert running(bench.truth(machine.ref)) == [Copy(machine.ref, bench.hosts[-1], RUNNING, machine.boot_mark)]


@case(ErrandKind.REDEPLOY, core=True)
def a_redeployed_machine_runs_where_it_is_to_be_and_only_there(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    seen = done(carry_through(bench, errand_for(bench, ErrandKind.REDEPLOY, machine))).sighting
    now = only(running(bench.truth(seen.ref)))
    assert (seen.host, seen.boot_mark) == (now.host, now.boot_mark) == (bench.hosts[-1], now.boot_mark)
    assert now.boot_mark != machine.boot_mark


@case(ErrandKind.REIMAGE, core=True)
def a_machine_with_a_new_system_has_another_boot_mark(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    seen = done(carry_through(bench, errand_for(bench, ErrandKind.REIMAGE, machine))).sighting
    now = only(running(bench.truth(seen.ref)))
    assert now.boot_mark == seen.boot_mark != machine.boot_mark


# Asked again


@case(core=True)
def an_errand_that_is_done_and_asked_for_again_changes_nothing(bench: EngineBench) -> None:
    for number, kind in enumerate(sorted(bench.engine.kinds - {ErrandKind.PAUSE, ErrandKind.FENCE}), 1):
        if kind is ErrandKind.MIGRATE and len(bench.hosts) < 2:
            continue
        copy = made_ready(bench, kind, f"web-{number}")
        errand = errand_for(bench, kind, copy, number % 10)
        first = done(carry_through(bench, errand)).sighting
        before = bench.truth(first.ref)
        second = done(carry_through(bench, errand, Permit(again=True))).sighting
        assert (second.power, second.boot_mark) == (first.power, first.boot_mark), kind
        assert bench.truth(first.ref) == before, kind
        carry_through(bench, errand_for(bench, ErrandKind.DELETE, before[0] if before else copy, 9))


@case(ErrandKind.RESTART, mishaps=("answer lost",), core=True)
def a_restart_whose_answer_was_lost_is_not_done_twice(bench: EngineBench) -> None:
    """Whichever of its calls that meets: some engines restart by one, some by two."""
    for turn in (1, 2):
        machine = bench.make(f"web-{turn}", bench.hosts[0])
        errand, permit = errand_for(bench, ErrandKind.RESTART, machine, turn), Permit(ask=_strike(bench, turn))
        marks, result = set(), bench.engine.carry_out(errand, permit)
        assert isinstance(result, Unknown) or turn > 1
        for _ in range(4):
            marks |= {copy.boot_mark for copy in running(bench.truth(machine.ref))}
            permit.again = True
            result = bench.engine.carry_out(errand, permit)
        assert done(result).sighting.boot_mark == one(bench, machine.ref).boot_mark
        assert len((marks | {done(result).sighting.boot_mark}) - {machine.boot_mark}) == 1


def _strike(bench: EngineBench, turn: int) -> Callable[[int], bool]:
    """Leave for all, and the answer to that one is lost."""

    def ask(asked: int) -> bool:
        if asked == turn:
            bench.mishap("answer lost")
        return True

    return ask


@case(ErrandKind.PAUSE, core=True)
def a_pause_that_was_tried_before_is_only_ever_ended(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    errand = errand_for(bench, ErrandKind.PAUSE, machine)
    assert isinstance(bench.engine.carry_out(errand, Permit(again=True, seconds_left=5.0)), NotYet | Done)
    assert one(bench, machine.ref).power is RUNNING
    assert isinstance(bench.engine.carry_out(errand, Permit(seconds_left=5.0)), NotYet)
    assert one(bench, machine.ref).power is PAUSED
    assert done(carry_through(bench, errand, Permit(again=True))).sighting.power is RUNNING
    assert one(bench, machine.ref) == machine


@case(ErrandKind.PAUSE)
def a_pause_whose_end_has_passed_is_not_begun(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    permit = Permit(seconds_left=-1.0)
    assert done(carry_through(bench, errand_for(bench, ErrandKind.PAUSE, machine), permit)).sighting.power is RUNNING
    assert permit.asked == 0
    assert one(bench, machine.ref) == machine


# Allowed or not


@case(core=True)
def without_leave_nothing_is_touched(bench: EngineBench) -> None:
    for number, kind in enumerate(sorted(bench.engine.kinds - {ErrandKind.FENCE}), 1):
        copy = made_ready(bench, kind, f"web-{number}")
        before = bench.truth(copy.ref) if copy is not None else ()
        errand = errand_for(bench, kind, copy, number % 10)
        permit = Permit(allowed=False, seconds_left=5.0)
        result = bench.engine.carry_out(errand, permit)
        assert isinstance(result, NotYet), (kind, result)
        assert permit.asked == 1, kind
        assert (bench.truth(copy.ref) if copy is not None else ()) == before, kind
        if copy is None:
            assert all(not bench.engine.listing(host).machines for host in bench.hosts), kind


@case(ErrandKind.REDEPLOY)
def leave_is_asked_for_before_each_change(bench: EngineBench) -> None:
    """It is withdrawn after the first one, wherever that leaves the machine; with it back, the rest is done."""
    machine = bench.make("web-1", bench.hosts[0])
    errand = errand_for(bench, ErrandKind.REDEPLOY, machine)
    assert isinstance(bench.engine.carry_out(errand, Permit(ask=lambda asked: asked == 1)), NotYet)
    assert len(running(bench.truth(machine.ref))) < 2
    assert done(carry_through(bench, errand, Permit(again=True))).sighting.host == bench.hosts[-1]


# Boot marks


@case(core=True)
def a_boot_mark_changes_when_the_memory_is_lost(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.do("stop", machine.ref, machine.host)
    bench.do("boot", machine.ref, machine.host)
    (seen,) = bench.engine.listing(machine.host).machines
    assert seen.power is RUNNING
    assert seen.boot_mark != machine.boot_mark


@case(ErrandKind.PAUSE, core=True)
def a_boot_mark_stays_as_long_as_the_memory_does(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    other = bench.make("web-2", bench.hosts[0])
    errand = errand_for(bench, ErrandKind.PAUSE, machine)
    bench.engine.carry_out(errand, Permit(seconds_left=5.0))
    marks = {each.ref: each.boot_mark for each in bench.engine.listing(machine.host).machines}
    carry_through(bench, errand, Permit(again=True))
    bench.do("stop", other.ref, other.host)
    after = {each.ref: each.boot_mark for each in bench.engine.listing(machine.host).machines}
    assert marks[machine.ref] == after[machine.ref] == machine.boot_mark


# Listings


@case(core=True)
def a_listing_is_complete_and_what_is_not_in_it_is_gone(bench: EngineBench) -> None:
    first, second = bench.make("web-1", bench.hosts[0]), bench.make("web-2", bench.hosts[0])
    listing = bench.engine.listing(bench.hosts[0])
    assert listing.complete
    assert listing.host == bench.hosts[0]
    assert {(each.ref, each.host, each.power, each.boot_mark) for each in listing.machines} == {
        (first.ref, first.host, RUNNING, first.boot_mark),
        (second.ref, second.host, RUNNING, second.boot_mark),
    }
    bench.do("remove", first.ref, first.host)
    assert [each.ref for each in bench.engine.listing(bench.hosts[0]).machines] == [second.ref]


@case(core=True)
def a_machine_that_nobody_adopted_is_listed_and_left_alone(bench: EngineBench) -> None:
    stranger, machine = bench.make_stranger(bench.hosts[0]), bench.make("web-1", bench.hosts[0])
    for number, kind in enumerate((ErrandKind.RESTART, ErrandKind.STOP, ErrandKind.DELETE), 1):
        carry_through(bench, errand_for(bench, kind, machine, number))
    assert [each.ref for each in bench.engine.listing(bench.hosts[0]).machines] == [stranger.ref]
    assert bench.truth(stranger.ref) == (stranger,)


@case(mishaps=("crash",))
def a_crash_is_told_from_a_machine_that_was_stopped(bench: EngineBench) -> None:
    crashed, stopped = bench.make("web-1", bench.hosts[0]), bench.make("web-2", bench.hosts[0])
    bench.do("crash", crashed.ref, crashed.host)
    carry_through(bench, errand_for(bench, ErrandKind.STOP, stopped))
    seen = {each.ref: (each.power, each.why) for each in bench.engine.listing(bench.hosts[0]).machines}
    assert seen[crashed.ref] == (OFF, SeenWhy.CRASH)
    assert seen[stopped.ref][0] is OFF
    assert seen[stopped.ref][1] is not SeenWhy.CRASH


@case(mishaps=("shutdown from inside",))
def a_guest_that_shuts_itself_down_has_not_crashed(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.do("shutdown from inside", machine.ref, machine.host)
    (seen,) = bench.engine.listing(bench.hosts[0]).machines
    assert (seen.power, seen.why) == (OFF, SeenWhy.GUEST)


@case(ErrandKind.RESTART)
def a_hint_follows_a_change(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    hints = bench.engine.changes(machine.host, bench.engine.listing(machine.host).cursor)
    carry_through(bench, errand_for(bench, ErrandKind.RESTART, machine))
    assert next(hints) != ""
    bench.engine.close()


# Giving up, adopting and releasing


@case(ErrandKind.PAUSE, core=True)
def a_pause_that_is_abandoned_is_over(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    errand = errand_for(bench, ErrandKind.PAUSE, machine)
    bench.engine.carry_out(errand, Permit(seconds_left=5.0))
    for _ in range(2):
        bench.engine.abandon(errand)
        assert one(bench, machine.ref) == machine


@case(ErrandKind.MIGRATE, mishaps=("slow migration",))
def a_migration_that_is_abandoned_leaves_the_machine_where_it_was(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.mishap("slow migration")
    errand = errand_for(bench, ErrandKind.MIGRATE, machine)
    assert isinstance(bench.engine.carry_out(errand, Permit()), NotYet)
    bench.engine.abandon(errand)
    bench.wait(60.0)
    assert bench.truth(machine.ref) == (machine,)


@case(core=True)
def adopting_and_releasing_leave_a_machine_as_it_is(bench: EngineBench) -> None:
    stranger = bench.make_stranger(bench.hosts[0])
    bench.engine.adopt(stranger.host, stranger.ref, "web-1", "99999999-0000-4000-8000-000000000001")
    for way in Way:
        assert all(finding.sentence for finding in bench.engine.examine(stranger.host, stranger.ref, way))
    bench.engine.release(stranger.host, stranger.ref)
    assert bench.truth(stranger.ref) == (stranger,)
    assert [each.ref for each in bench.engine.listing(stranger.host).machines] == [stranger.ref]


@case(core=True)
def no_machine_ends_with_the_engine(bench: EngineBench) -> None:
    machine = bench.make("web-1", bench.hosts[0])
    bench.engine.close()
    assert bench.truth(machine.ref) == (machine,)
