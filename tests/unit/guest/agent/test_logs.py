"""One line for each thing that happened."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from forewarn.guest.agent.telling.logs import LOGGER_NAME, TextLines, about, configure
from forewarn.terms import ScheduledEvent

EVENT = ScheduledEvent("A1", "Scheduled", "Reboot", ("web-0",), None)


@pytest.fixture(autouse=True)
def leave_the_logger_as_it_was() -> Iterator[None]:
    logger = logging.getLogger(LOGGER_NAME)
    before = (logger.handlers[:], logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def test_json_lines_carry_what_they_are_about() -> None:
    stream = io.StringIO()
    log = configure("json", stream)
    log.info("prepared in %d s", 3, extra=about(EVENT, step="drain"))
    log.debug("too much")
    line = json.loads(stream.getvalue())

    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "forewarn.agent",
        "message": "prepared in 3 s",
        "event_id": "A1",
        "event_type": "Reboot",
        "event_status": "Scheduled",
        "step": "drain",
    }


def test_text_lines_are_for_eyes() -> None:
    stream = io.StringIO()
    log = configure("text", stream)
    log.warning("failed", extra={"why": "no such file", "step": "drain"})

    at, rest = stream.getvalue().split(" ", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at)
    assert rest == 'warning: failed why="no such file" step=drain\n'
    log.info("Reboot is over", extra=about(EVENT, step="drain"))
    assert stream.getvalue().endswith("Z info: Reboot is over step=drain [A1]\n")


def test_configuring_again_writes_each_line_once() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure("text", first)
    configure("json", second).info("hello")

    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1


def test_text_from_outside_cannot_forge_a_log_line() -> None:
    stream = io.StringIO()
    log = configure("text", stream)
    log.info("event %s", "A1\n2026-01-01T12:00:00Z info approved", extra={"said": "a\x1b[2Jb"})

    assert stream.getvalue().count("\n") == 1
    assert "\\n2026" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_a_traceback_comes_along() -> None:
    stream = io.StringIO()
    for log_format in ("json", "text"):
        log = configure(log_format, stream)
        try:
            raise ValueError("oops")
        except ValueError:
            log.exception("it broke")

    first, rest = stream.getvalue().split("\n", 1)
    assert "ValueError: oops" in json.loads(first)["traceback"]
    assert "ValueError: oops" in rest


def test_the_journal_gets_priorities_instead_of_times() -> None:
    lines = TextLines(for_journal=True)
    record = logging.LogRecord(LOGGER_NAME, logging.ERROR, "", 0, "bad", (), None)

    assert lines.format(record) == "<3>bad"
    record.levelno = 5
    assert lines.format(record) == "<7>bad"
