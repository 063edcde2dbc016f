"""A region as its users run it: the opening example, endings good and bad, and what a new start finds."""

from __future__ import annotations

import json
import resource
import signal
import sqlite3
import subprocess
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import EVENTS, FOREWARN, ServerProgram, ask, clean_environment, run
from tests.ports import free_port

VIRTUAL = ("--clock", "virtual")


def test_the_opening_example_goes_as_it_is_told(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        assert server.forewarn("ping", "--wait").startswith("forewarn ")
        server.forewarn("vm", "create", "web", "--count", "3", "--availability-set", "front")
        before = _curl(server, "web-0")
        restarted = server.forewarn("vm", "restart", "web-0")
        seen = server.document("web-1")
        (event,) = seen["Events"]
        server.forewarn("event", "approve", event["EventId"])
        started = server.document("web-2")
        server.forewarn("clock", "advance", "15m")
        after = server.document("web-0")
        boots = [server.json("vm", "show", f"web-{n}")["boots"] for n in range(3)]

    assert before == '{"DocumentIncarnation":1,"Events":[]}'
    assert event["EventId"] in restarted
    assert "not before" in restarted
    assert (event["EventType"], event["EventStatus"], event["Resources"]) == ("Reboot", "Scheduled", ["web-0"])
    assert [(shown["EventStatus"], shown["NotBefore"]) for shown in started["Events"]] == [("Started", "")]
    assert after == {"DocumentIncarnation": 4, "Events": []}
    assert boots == [2, 1, 1]


def _curl(server: ServerProgram, vm: str) -> str:
    command = ["curl", "-s", "--noproxy", "*", "-H", "Metadata:true", f"{server.metadata}/vm/{vm}{EVENTS}"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_vm_approves_for_itself_with_the_same_effect(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        event_id = _a_scheduled_event(server)
        answer = server.approve("web", event_id)
        story = server.json("event", "show", event_id)

    assert (answer.status, answer.body) == (200, b"")
    assert (story["phase"], story["approved_by"]) == ("started", "web")


def _a_scheduled_event(server: ServerProgram, vm: str = "web") -> str:
    server.forewarn("vm", "create", vm)
    server.document(vm)
    outcome = server.json("vm", "restart", vm)
    event_id: str = outcome["events"][0]["id"]
    return event_id


def test_what_nobody_approves_starts_at_its_not_before(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        event_id = _a_scheduled_event(server)
        server.forewarn("clock", "advance", "14m59s")
        waiting = server.document("web")["Events"]
        server.forewarn("clock", "next")
        started = server.document("web")["Events"]

    assert [(event["EventId"], event["EventStatus"]) for event in waiting] == [(event_id, "Scheduled")]
    assert [(event["EventId"], event["EventStatus"]) for event in started] == [(event_id, "Started")]


def test_where_nobody_reads_nothing_waits_and_the_answer_says_so(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        server.forewarn("vm", "create", "web")
        told = server.forewarn("vm", "restart", "web")

    assert "at once, without an event" in told


def test_ping_waits_for_a_server_that_is_still_starting(tmp_path: Path) -> None:
    port = free_port()
    env = clean_environment(FOREWARN_URL=f"http://127.0.0.1:{port}")
    waiting = subprocess.Popen([FOREWARN, "ping", "--wait", "60"], env=env, stdout=subprocess.PIPE, text=True)
    with waiting, ServerProgram.start(tmp_path / "data", "--control", f"127.0.0.1:{port}"):
        told, _ = waiting.communicate(timeout=60)

    assert waiting.returncode == 0
    assert told.startswith("forewarn ")


def test_ping_without_a_server_ends_with_status_3() -> None:
    run("ping", "--url", f"http://127.0.0.1:{free_port()}", status=3)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_good_order(how: signal.Signals, tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        _a_scheduled_event(server)
        status = server.stop(how)
        left = sorted(path.name for path in (tmp_path / "data").iterdir())
        log = server.log.read_text()
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        verdict = server.forewarn("journal", "verify")

    assert status == 0
    assert [name.partition("-")[0] for name in left] == ["head", "journal.sqlite3", "lock", "snapshot", "tls"]
    assert "Traceback" not in log
    assert verdict.endswith(" records read, nothing wrong.\n")


def test_a_reader_that_waits_gets_its_answer_when_the_server_ends(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        _a_scheduled_event(server)
        with closing(HTTPConnection(urlsplit(server.metadata).netloc, timeout=60)) as reader:
            headers = {"Metadata": "true", "If-None-Match": '"2"', "Prefer": "wait=100"}
            reader.request("GET", f"/vm/web{EVENTS}", headers=headers)
            server.forewarn("ping")  # answered after what came before it
            status = server.stop()
            answer = reader.getresponse()

    assert status == 0
    assert (answer.status, answer.headers["Preference-Applied"]) == (304, "wait=100")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_server_at_once(how: signal.Signals, tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        _a_scheduled_event(server)
        idle, slow = (HTTPConnection(urlsplit(server.metadata).netloc, timeout=60) for _ in range(2))
        with closing(idle), closing(slow):
            idle.request("GET", f"/vm/web{EVENTS}", headers={"Metadata": "true"})
            idle.getresponse().read()
            server.forewarn("fault", "add", "delay", "--delay", "1h")
            slow.request("GET", f"/vm/web{EVENTS}", headers={"Metadata": "true"})
            server.forewarn("ping")
            server.process.send_signal(how)
            assert idle.sock.recv(1) == b"", "the first signal closes what nobody needs, and waits for the slow answer"
            status = server.stop(how)
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        verdict = server.forewarn("journal", "verify")

    assert status == -how
    assert verdict.endswith("nothing wrong.\n")


def test_a_new_start_finds_events_approvals_incarnations_and_time_as_they_were(tmp_path: Path) -> None:
    def look(server: ServerProgram) -> tuple[object, ...]:
        target = f"/vm/one{EVENTS}"
        stories = [server.json("event", "show", event_id) for event_id in ids]
        return ask(server.metadata, target).body, stories, server.json("vm", "list"), server.json("clock", "show")

    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        server.forewarn("vm", "create", "one", "--availability-set", "pair")
        server.forewarn("vm", "create", "two", "--availability-set", "pair")
        server.document("two")
        ids = [server.json("vm", "restart", name)["events"][0]["id"] for name in ("one", "two")]
        server.approve("two", ids[0])
        server.forewarn("clock", "advance", "10s")
        before = look(server)
        server.stop()
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        after = look(server)
        server.forewarn("clock", "advance", "1h")
        at_last = server.document("one")

    assert after == before
    assert at_last["Events"] == []


def test_a_second_server_on_one_directory_says_so_and_ends(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        _a_scheduled_event(server)
        faces = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0", "--resource-manager", "127.0.0.1:0")
        second = run("serve", "--data", tmp_path / "data", *faces, status=1)
        still = server.document("web")

    assert second.stdout == ""
    assert f"is in use by process {server.process.pid}." in second.stderr
    assert second.stderr.count("\n") == 1
    assert len(still["Events"]) == 1


def test_a_journal_that_cannot_be_written_refuses_and_recovers(tmp_path: Path) -> None:
    """The disk is full, as far as the server can tell: no file of its may grow."""
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        event_id = _a_scheduled_event(server)
        seq = server.json("ping")["seq"]
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        refused = run("vm", "create", "other", env=server.environment(), status=1)
        unheard = server.approve("web", event_id)
        between = server.document("web")["Events"][0]["EventStatus"], server.json("ping")["seq"]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        taken = server.approve("web", event_id)
        verdict = server.forewarn("journal", "verify")

    assert "journal" in refused.stderr
    assert unheard.status == 503
    assert between == ("Scheduled", seq)
    assert taken.status == 200
    assert verdict.endswith("nothing wrong.\n")


def test_a_copy_that_sqlite_makes_of_a_running_journal_is_a_backup(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        _a_scheduled_event(server)
        before = server.document("web")
        (tmp_path / "copy").mkdir()
        source = sqlite3.connect(tmp_path / "data/journal.sqlite3")
        with closing(source), closing(sqlite3.connect(tmp_path / "copy/journal.sqlite3")) as copy:
            source.backup(copy)
        server.forewarn("vm", "delete", "web")
    with ServerProgram.start(tmp_path / "copy", *VIRTUAL) as server:
        after = server.document("web")
        verdict = server.forewarn("journal", "verify")

    assert after == before
    assert verdict.endswith("nothing wrong.\n")


def test_the_vms_of_a_region_file_are_made_once(tmp_path: Path) -> None:
    config = tmp_path / "region.toml"
    config.write_text('[settings]\nclock = "virtual"\n[[vm]]\nname = "web"\ncount = 2\navailability_set = "front"\n')
    lists = []
    for _ in range(2):
        with ServerProgram.start(tmp_path / "data", "--config", config) as server:
            lists.append(server.json("vm", "list"))
            server.stop()

    assert [vm["name"] for vm in lists[0]] == ["web-0", "web-1"]
    assert lists[1] == lists[0]


def test_a_watcher_sees_every_change_and_ends_with_the_count(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", *VIRTUAL) as server:
        event_id = _a_scheduled_event(server)
        watch = [str(FOREWARN), "event", "watch", "--after", "0", "--id", event_id, "--count", "4", "--json"]
        with subprocess.Popen(watch, env=server.environment(), stdout=subprocess.PIPE, text=True) as watching:
            server.approve("web", event_id)
            server.forewarn("clock", "advance", "1m")
            told, _ = watching.communicate(timeout=60)

    facts = [json.loads(line)["fact"] for line in told.splitlines()]
    assert facts[:3] == ["EventScheduled", "EventApproved", "EventStarted"]
    assert len(facts) == 4
    assert watching.returncode == 0
