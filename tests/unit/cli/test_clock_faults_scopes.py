"""``forewarn clock``, ``forewarn fault`` and ``forewarn scope``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forewarn.cli.commands import clocks

if TYPE_CHECKING:
    from forewarn.cli.api.time_shapes import Clock
    from tests.unit.cli.conftest import Region, Run


def test_the_clock_tells_the_time_and_what_is_due(run: Run, region: Region) -> None:
    assert run("clock", "show").out == "2026-01-01T12:00:00Z (virtual, stands still); nothing is due.\n"
    run("vm", "create", "db")
    region.read("db")
    run("vm", "restart", "db")

    assert run("clock", "show").out.endswith("next change 2026-01-01T12:15:00Z, in 15 min.\n")


def test_the_clock_is_advanced_and_moved_to_instants(run: Run, region: Region) -> None:
    assert run("clock", "advance", "15m", "--json").json["now"] == "2026-01-01T12:15:00Z"
    assert run("clock", "advance", "PT1H30M", "--json").json["now"] == "2026-01-01T13:45:00Z"
    assert run("clock", "to", "2026-01-02T01:00:00+01:00", "--json").json["now"] == "2026-01-02T00:00:00Z"
    assert run("clock", "to", "2026-01-02T06:00:00", "--json").json["now"] == "2026-01-02T06:00:00Z"


def test_clock_next_goes_to_the_next_change_or_stays(run: Run, region: Region) -> None:
    stays = run("clock", "next")
    run("vm", "create", "db")
    region.read("db")
    run("vm", "restart", "db")

    assert "Nothing is due" in stays.err
    assert run("clock", "next", "--json").json["now"] == "2026-01-01T12:15:00Z"
    assert run("event", "list", "--json").json[0]["phase"] == "started"


def test_turning_the_clock_lists_what_happened(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2", "--availability-set", "front", "--read")
    run("vm", "restart", "web-0")

    assert run("clock", "next").lines[:2] == [
        "2026-01-01T12:15:00Z  web-0: 1 Reboot event started",
        "2026-01-01T12:15:00Z  web-0: 1 Reboot impact begun",
    ]
    later = run("clock", "advance", "2d")
    assert later.lines[-2] == "2026-01-02T12:00:00Z  availability-set/front: 1 scope disabled: nobody has read there"
    assert run("clock", "to", "2026-01-09T00:00:00Z", "--json").json["happened"] == []


def test_a_long_turn_is_told_in_a_screen_and_whole_as_json(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "6", "--read")
    for number in range(6):
        run("vm", "restart", f"web-{number}")
        run("clock", "advance", "1s")

    long = run("clock", "advance", "1h")

    assert len(long.lines) == 22
    assert long.lines[10] == "… 4 more; 'forewarn activity' lists what happened."
    assert "web-0: 1 Reboot event started" in long.lines[0]
    assert "web-5: 1 Reboot event completed" in long.lines[-2]


def test_time_that_would_go_back_or_cannot_be_read_is_refused(run: Run, region: Region) -> None:
    back = run("clock", "to", "2025-01-01T00:00:00Z")

    assert back.status == 1
    assert "forward" in back.err
    assert [run("clock", "advance", text).status for text in ("15", "-5m", "soon", "P")] == [2, 2, 2, 2]
    assert run("clock", "to", "tomorrow").status == 2
    assert run("clock", "show", "--json").json["now"] == "2026-01-01T12:00:00Z"


def test_a_real_clock_cannot_be_turned(run: Run, real_time_region: Region) -> None:
    advanced, faster, to_next = run("clock", "advance", "1s"), run("clock", "speed", "2"), run("clock", "next")

    assert (advanced.status, faster.status, to_next.status) == (1, 1, 1)
    assert "--clock virtual" in advanced.err
    assert to_next.err == advanced.err


def test_what_falls_due_on_a_fast_clock_is_due_now_and_not_ago() -> None:
    clock: Clock = {"now": "2026-01-01T12:00:02Z", "kind": "fast", "speed": 60.0, "next_deadline": None}

    assert clocks._due(clock) == "nothing is due"
    assert clocks._due({**clock, "next_deadline": "2026-01-01T12:00:00Z"}) == "something is due now"
    assert clocks._due({**clock, "next_deadline": "2026-01-01T12:00:04Z"}) == "next change 2026-01-01T12:00:04Z, in 2 s"


def test_speed_is_written_with_or_without_an_x(run: Run, region: Region) -> None:
    assert run("clock", "speed", "x60", "--json").json["speed"] == 60
    assert run("clock", "speed", "0").out.startswith("2026-01-01T12:0")
    assert run("clock", "speed", "-1").status == 2
    assert run("clock", "speed", "quick").status == 2
    assert run("clock", "show", "--json").json["speed"] == 0


def test_faults_are_added_listed_and_cleared(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2")

    added = run("fault", "add", "gone", "web-0", "--times", "3")
    run("fault", "add", "delay", "--delay", "2s", "--share", "0.25")
    listed = run("fault", "list")
    run("fault", "clear", "1")

    assert added.out == "Fault 1: gone for web-0, the next 3 answers.\n"
    assert listed.lines[2].split(maxsplit=2) == ["2", "delay", "every VM  every answer, 25 % of them  2 s"]
    assert [fault["id"] for fault in run("fault", "list", "--json").json] == ["2"]
    assert run("fault", "clear").status == 0
    assert "no fault rules" in run("fault", "list").err


def test_a_fault_that_makes_no_sense_is_refused_and_not_added(run: Run, region: Region) -> None:
    assert run("fault", "add", "tea").status == 2
    assert run("fault", "add", "delay").status == 2
    assert run("fault", "add", "gone", "--delay", "2s").status == 2
    assert run("fault", "add", "gone", "--share", "2").status == 2
    assert run("fault", "add", "gone", "nobody").status == 4
    assert run("fault", "clear", "9").status == 4
    assert run("fault", "list", "--json").json == []


def test_a_scope_tells_whether_anybody_reads(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2", "--availability-set", "front")

    before = run("scope", "show", "availability-set/front")
    region.read("web-0")

    assert "no: nobody reads" in before.out
    assert (
        run("scope", "list")
        .lines[1]
        .startswith("availability-set/front    2       0            1  2026-01-01T12:00:00Z")
    )
    assert run("scope", "list", "--json").json[0]["key"] == "availability-set/front"


def test_a_policy_keeps_what_is_not_named(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2", "--availability-set", "front")

    run("scope", "policy", "availability-set/front", "--no-all-instances-down")
    run("scope", "policy", "availability-set/front", "--auto-approve-reboot")

    shown = run("scope", "policy", "availability-set/front", "--json").json
    assert shown == {"auto_approve_reboot": True, "auto_approve_redeploy": False, "all_instances_down": False}
    assert "auto approve reboot    yes" in run("scope", "policy", "availability-set/front").out


def test_a_scope_that_does_not_exist_or_cannot_be_one_is_refused(run: Run, region: Region) -> None:
    assert run("scope", "show", "front").status == 2
    assert run("scope", "show", "availability-set/none").status == 4
    assert run("scope", "policy", "availability-set/none", "--auto-approve-reboot").status == 4
