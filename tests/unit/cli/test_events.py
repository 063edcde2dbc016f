"""``forewarn event``: list, show, approve, cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def schedule(run: Run, region: Region, *names: str) -> list[str]:
    """Restart VMs of one set that reads; the ids of the events."""
    run("vm", "create", "web", "--count", "3", "--availability-set", "front")
    region.read("web-0")
    for name in names:
        assert run("vm", "restart", name).status == 0
    return [event["id"] for event in run("event", "list", "--json").json]


def test_a_list_of_events_shows_when_they_start_and_whom_they_hit(run: Run, region: Region) -> None:
    [event_id] = schedule(run, region, "web-0")
    run("clock", "advance", "5m")

    line = run("event", "list").lines[1]

    assert line.startswith(f"{event_id}  Reboot  scheduled  2026-01-01T12:15:00Z (in 10 min)")
    assert line.endswith("availability-set/front  web-0")


def test_a_list_can_be_narrowed_to_a_vm_or_a_scope(run: Run, region: Region) -> None:
    schedule(run, region, "web-0", "web-1")

    assert len(run("event", "list", "--vm", "web-1", "--json").json) == 1
    assert len(run("event", "list", "--scope", "availability-set/front", "--json").json) == 2
    assert "no active events" in run("event", "list", "--vm", "web-2").err


def test_an_approved_event_starts_and_its_story_names_the_operator(run: Run, region: Region) -> None:
    [event_id] = schedule(run, region, "web-0")

    approved = run("event", "approve", event_id)
    shown = run("event", "show", event_id)

    assert approved.status == 0
    assert "started" in approved.out
    assert "given by operator" in shown.out
    facts = [line.split()[1] for line in shown.lines if line.startswith("2026-")]
    assert facts[:3] == ["EventScheduled", "EventApproved", "EventStarted"]


def test_an_ended_event_keeps_its_story(run: Run, region: Region) -> None:
    [event_id] = schedule(run, region, "web-0")
    run("clock", "advance", "1h")

    shown = run("event", "show", event_id, "--json").json

    assert run("event", "list", "--json").json == []
    assert shown["phase"] == "completed"
    assert shown["timeline"][-1]["fact"] == "EventCompleted"


def test_the_beginning_of_an_id_is_enough_where_it_is_unique(run: Run, region: Region) -> None:
    [event_id] = schedule(run, region, "web-0")

    assert run("event", "approve", event_id[:8].lower()).status == 0
    assert run("event", "show", event_id[:4], "--json").json["id"] == event_id


def test_an_event_id_that_is_too_short_or_unknown_is_refused_and_changes_nothing(run: Run, region: Region) -> None:
    [event_id] = schedule(run, region, "web-0")
    before = region.plane.seq

    short, unknown = run("event", "approve", event_id[:2]), run("event", "approve", "zzzz")
    absent = run("event", "approve", event_id, "00000000-0000-0000-0000-000000000000")

    assert (short.status, unknown.status) == (2, 4)
    assert absent.status in (1, 4)
    assert region.plane.seq == before


def test_a_canceled_event_leaves_its_document_and_a_started_one_cannot_be_canceled(run: Run, region: Region) -> None:
    first, second = schedule(run, region, "web-0", "web-1")
    run("event", "approve", second)

    canceled, refused = run("event", "cancel", first), run("event", "cancel", second)

    assert (canceled.status, refused.status) == (0, 1)
    assert [event["id"] for event in run("event", "list", "--json").json] == [second]


def test_the_eleventh_restart_is_refused_with_the_servers_sentence(run: Run, region: Region) -> None:
    run("vm", "create", "n", "--count", "11", "--availability-set", "s")
    region.read("n-0")
    for number in range(10):
        assert run("vm", "restart", f"n-{number}").status == 0

    refused = run("vm", "restart", "n-10")

    assert refused.status == 1
    assert "user_operation_limit" in refused.err


def test_ended_events_are_listed_on_demand_and_found_by_their_beginnings(run: Run, region: Region) -> None:
    run("vm", "create", "db", "web")
    region.read("db", "web")
    ended = run("vm", "restart", "db", "--json").json["events"][0]["id"]
    run("clock", "advance", "3h")
    active = run("vm", "redeploy", "web", "--json").json["events"][0]["id"]

    def listed(*options: str) -> list[tuple[str, str]]:
        return [(event["id"], event["phase"]) for event in run("event", "list", "--json", *options).json]

    assert listed() == [(active, "scheduled")]
    assert listed("--all") == [(ended, "completed"), (active, "scheduled")]
    assert listed("--since", "2h") == [(active, "scheduled")]
    assert listed("--since", "4h", "--until", "1h") == [(ended, "completed")]
    assert listed("--all", "--vm", "db") == [(ended, "completed")]
    assert run("event", "show", ended[:8], "--json").json["phase"] == "completed"
    assert "no event of the last 24 hours" in run("event", "show", "0000").err
    assert "no active event" in run("event", "cancel", ended[:8]).err


def test_an_events_story_is_printed_as_a_test(run: Run, region: Region) -> None:
    run("vm", "create", "db", "--read")
    (event,) = run("vm", "restart", "db", "--json").json["events"]

    module = run("event", "export-test", event["id"][:8]).out

    compile(module, "test_story.py", "exec")
    assert "vm = region.vm('db')" in module
    assert "event = region.restart(vm)" in module
    assert run("event", "export-test", "4CAEA225-A741-474D-A72E-428C86FCD853").status == 4
    assert run("event", "export-test", "--after", "0").out == module
    assert run("event", "export-test").status == run("event", "export-test", "x", "--after", "0").status == 2


def test_ended_events_are_listed_by_when_they_were_open_on_the_regions_clock(run: Run, region: Region) -> None:
    """``--since 30m`` is half an hour before the region's time, and an instant is an instant."""
    [first] = schedule(run, region, "web-0")
    run("clock", "advance", "10h")
    assert run("vm", "restart", "web-1").status == 0
    [second] = [event["id"] for event in run("event", "list", "--json").json]
    run("clock", "advance", "1h")

    def listed(*words: str) -> list[str]:
        return [event["id"] for event in run("event", "list", *words, "--json").json]

    assert listed() == []
    assert listed("--all") == [first, second]
    assert listed("--since", "2h") == [second]
    assert listed("--all", "--since", "2026-01-01T22:00:00Z") == [second]
    assert listed("--since", "12h", "--until", "9h") == [first]
    assert run("event", "list", "--since", "yesterday").status == 2
