"""``forewarn journal`` and ``forewarn event watch``: reading along, also when the line breaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_the_tail_is_the_end_of_the_journal(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "3")

    tail = run("journal", "tail", "--lines", "2", "--json").json

    assert [record["seq"] for record in tail] == [region.plane.seq - 1, region.plane.seq]
    assert run("journal", "tail").lines[0].split() == ["#", "AT", "FACT", "SUBJECT", "BY"]


def test_the_tail_can_be_about_one_thing(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "3")

    records = run("journal", "tail", "--about", "vm/WEB-1", "--json").json

    assert [record["fact"] for record in records] == ["VmCreated"]
    assert "nothing about that" in run("journal", "tail", "--about", "vm/none").err


def test_a_sound_journal_verifies(run: Run, region: Region) -> None:
    run("vm", "create", "db")

    assert run("journal", "verify").out == f"{region.plane.seq} records read, nothing wrong.\n"
    assert run("journal", "verify", "--json").json == {"faults": [], "records": region.plane.seq}


def test_an_export_holds_every_record_once(run: Run, region: Region, tmp_path: Path) -> None:
    run("vm", "create", "web", "--count", "3")
    file = tmp_path / "region.jsonl"

    assert run("journal", "export", "--output", str(file)).status == 0
    exported = [json.loads(line) for line in file.read_text().splitlines()]

    assert [record["seq"] for record in exported] == list(range(1, region.plane.seq + 1))
    assert run("journal", "export", "--after", "2").lines == file.read_text().splitlines()[2:]
    assert list(tmp_path.iterdir()) == [file]


def test_an_export_that_cannot_be_written_leaves_nothing(run: Run, region: Region, tmp_path: Path) -> None:
    result = run("journal", "export", "--output", str(tmp_path / "absent" / "file"))

    assert result.status == 1
    assert result.err.startswith("forewarn: cannot write")
    assert list(tmp_path.iterdir()) == []


def test_a_watch_tells_the_whole_life_of_an_event(run: Run, region: Region) -> None:
    run("vm", "create", "db")
    region.read("db")
    run("vm", "restart", "db")
    event_id = run("event", "list", "--json").json[0]["id"]
    run("event", "approve", event_id)
    run("clock", "advance", "1h")

    lines = run("event", "watch", "--after", "0", "--count", "6").lines

    assert [line.split()[1] for line in lines] == [
        "scheduled", "approved", "started", "impact", "recovering", "completed",
    ]  # fmt: skip
    assert all(event_id in line and "Reboot" in line and " db " in line for line in lines)
    assert lines[0].endswith("not before 2026-01-01T12:15:00Z (in 15 min)")
    assert "by operator" in lines[1]


def test_a_watch_in_json_gives_the_journals_records(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2")
    region.read("web-0", "web-1")
    run("vm", "restart", "web-0")
    run("vm", "restart", "web-1")

    [line] = run("event", "watch", "--after", "0", "--count", "1", "--vm", "WEB-1", "--json").lines

    record = json.loads(line)
    assert (record["fact"], record["body"]["event"]["vms"]) == ("EventScheduled", ["web-1"])


def test_a_watch_knows_the_events_that_were_there_before_it(run: Run, region: Region) -> None:
    run("vm", "create", "db")
    region.read("db")
    run("vm", "restart", "db")
    [event] = run("event", "list", "--json").json
    seq = region.plane.seq
    run("event", "approve", event["id"])

    [line] = run("event", "watch", "--after", str(seq), "--count", "1").lines

    assert line.split()[1:4] == ["approved", "Reboot", "db"]


class _Flaky(BaseHTTPRequestHandler):
    """A server whose every connection ends after one record."""

    asked: list[str] = []
    records = 3

    def do_GET(self) -> None:
        body, kind = self._content()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def _content(self) -> tuple[str, str]:
        if self.path == "/v1/ping":
            return json.dumps({"name": "forewarn", "seq": self.records}), "application/json"
        if self.path.startswith("/v1/events"):
            return json.dumps({"events": [], "next": None}), "application/json"
        self.asked.append(self.path)
        seq = int(self.path.rpartition("=")[2]) + 1
        record = {"seq": seq, "at": "2026-01-01T12:00:00Z", "fact": "EventStarted", "subject": "E", "body": {}}
        return f": hello\n\nid: {seq}\ndata: {json.dumps(record)}\n\nid: half a", "text/event-stream"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Flaky]]:
    monkeypatch.setattr(_Flaky, "asked", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), _Flaky) as server:
        monkeypatch.setenv("FOREWARN_URL", f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield _Flaky
        server.shutdown()


def test_a_broken_connection_is_mended_without_losing_or_repeating_a_change(run: Run, flaky: type[_Flaky]) -> None:
    result = run("event", "watch", "--after", "0", "--count", "3", "--json")

    assert [json.loads(line)["seq"] for line in result.lines] == [1, 2, 3]
    assert [path.rpartition("=")[2] for path in flaky.asked] == ["0", "1", "2"]
    assert result.err.count("trying again") == 1


def test_a_watch_begins_now_unless_told_otherwise(run: Run, flaky: type[_Flaky]) -> None:
    run("event", "watch", "--count", "1")

    assert flaky.asked == ["/v1/journal/stream?after=3"]


def test_a_server_that_came_back_with_a_shorter_journal_is_followed_from_its_beginning(
    run: Run, flaky: type[_Flaky]
) -> None:
    result = run("event", "watch", "--after", "8", "--count", "2", "--json")

    assert [json.loads(line)["seq"] for line in result.lines] == [9, 1]
    assert "another journal" in result.err


def test_a_watch_that_finds_no_server_says_so_at_once(run: Run, nowhere: str) -> None:
    assert run("event", "watch").status == 3
    assert run("event", "watch", "--after", "0").status == 3


def test_a_cursor_beyond_the_journal_is_refused(run: Run, region: Region) -> None:
    result = run("event", "watch", "--after", "99")

    assert result.status == 1
    assert "99" in result.err
