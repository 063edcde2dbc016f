"""``forewarn mock``: the first GET of a program shows an event, and all that it asks is told."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import PATIENCE_SECONDS
from tests.e2e.test_trying_out import running, told_by, usual_port_taken

__all__ = ["usual_port_taken"]
_LAST_LINE = "Every request is told below."


@contextmanager
def mocking(directory: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A mock, the address of its VM's document, and what it has told so far."""
    with running(directory, "mock", *arguments) as process:
        text = "".join(told_by(process, _LAST_LINE))
        found = re.search(r'curl -s -H Metadata:true "([^"]+)"', text)
        assert found is not None
        yield process, found[1], text


def ask(url: str, verb: str = "GET", body: str = "", *, header: bool = True) -> tuple[int, Any, str]:
    """Status, document and Date, as a program sees them."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(verb, f"{parts.path}?{parts.query}", body, {"Metadata": "true"} if header else {})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None, answer.headers["Date"]
    finally:
        connection.close()


@pytest.mark.parametrize(("kind", "shown"), [("Preempt", "Preempt"), ("freeze", "Freeze")])
def test_the_first_get_shows_an_event_of_the_chosen_type(kind: str, shown: str, tmp_path: Path) -> None:
    with mocking(tmp_path, "--type", kind, "--vm", "db-1") as (process, url, _):
        status, document, _ = ask(url)
        (event,) = document["Events"]

        assert (status, event["EventType"], event["EventStatus"]) == (200, shown, "Scheduled")
        assert event["Resources"] == ["db-1"]
        approval = json.dumps({"StartRequests": [{"EventId": event["EventId"]}]})
        assert ask(url, "POST", approval)[0] == 200
        assert ask(url)[1]["Events"][0]["EventStatus"] == "Started"
        told = told_by(process, "")
        while f"{shown} {event['EventId'][:8]} Started" not in told[-1]:
            told += told_by(process, "")

        text = "".join(told)
        assert f"db-1  GET 200: incarnation 2, {shown} {event['EventId'][:8]} Scheduled" in text
        assert f"db-1  POST 200: approved {event['EventId'][:8]}" in text
        assert re.search(rf"approved +{shown} +db-1", text)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert list(tmp_path.iterdir()) == []


def test_the_notice_is_counted_from_the_first_get(tmp_path: Path) -> None:
    with mocking(tmp_path, "--in", "2m") as (_, url, _):
        _, document, date = ask(url)
        ahead = parsedate_to_datetime(document["Events"][0]["NotBefore"]) - parsedate_to_datetime(date)

        assert timedelta(seconds=118) <= ahead <= timedelta(seconds=121)


def test_what_was_asked_wrongly_is_told_with_its_reason(tmp_path: Path) -> None:
    with mocking(tmp_path) as (process, url, text):
        assert ask(url, header=False)[0] == 400
        assert "web-0  GET 400: Required metadata header not specified" in told_by(process, "")[0]
        assert max(map(len, text.splitlines())) <= 110


def test_programs_get_the_ready_line_as_json(tmp_path: Path) -> None:
    with running(tmp_path, "mock", "--ready", "json") as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())

        assert (ready["ready"], ready["vms"], ready["kept_in"]) == (True, 1, "in memory")
        assert ask(f"{ready['metadata']}/vm/web-0/metadata/scheduledevents?api-version=2020-07-01")[1]["Events"]
