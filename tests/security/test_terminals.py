"""What others wrote comes to a terminal and to a log as text, never as orders."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from io import StringIO

import pytest

from forewarn.cli.output import Column, Output, harmless
from forewarn.guest.agent.telling.logs import configure
from forewarn.server.log import OneLineFormatter

HOSTILE = ["\x1b[2J", "\x1b]0;owned\x07", "a\rb", "a\x08b", "\x9b31m", "\u202egnp.exe", "\x00", "x\x7fy", "\u2028"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("colour", [False, True])
def test_nothing_that_moves_a_cursor_is_printed(text: str, colour: bool, capsys: pytest.CaptureFixture[str]) -> None:
    out = Output()
    out.colour = colour
    out.table([Column("A")], [[text], [{text: text}], [[text]]])
    out.fields([("tags", {text: text})])
    out.line(f"it is {text}")
    out.note(f"it is {text}")
    told = capsys.readouterr()
    for code in ("\x1b[1m", "\x1b[0m", "\x1b[2m"):
        told = told._replace(out=told.out.replace(code, ""))
    assert (told.out + told.err).replace("\n", "").isprintable()


def test_a_cell_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table([Column("NAME")], [["web\nweb-1  running"], ["a\tb"]])
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("text", HOSTILE)
def test_json_on_a_terminal_is_text_and_means_the_same(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Output().json({text: [text]})
    Output().json_line({text: [text]})
    first, second = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert (first + second).replace("\n", "").isprintable()
    assert json.loads(first) == json.loads(second) == {text: [text]}


def test_a_refusal_of_a_server_is_text_too() -> None:
    assert harmless("no VM named '\x1b[2J'") == "no VM named '\N{REPLACEMENT CHARACTER}[2J'"


def test_a_name_cannot_write_a_line_into_the_servers_log() -> None:
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(OneLineFormatter("%(levelname)s %(message)s"))
    logger = logging.Logger("forewarn.test")
    logger.addHandler(handler)
    logger.warning("Cannot listen in %s.", "x\n2026-01-01 00:00:00 INFO all is well\x1b[2J")
    try:
        raise ValueError("bad\n2026-01-01 00:00:00 INFO all is well")
    except ValueError:
        logger.exception("request %s failed", "1\r\n2")
    lines = written.getvalue().splitlines()
    assert lines[0] == "WARNING Cannot listen in x\\n2026-01-01 00:00:00 INFO all is well\\x1b[2J."
    assert lines[1] == "ERROR request 1\\r\\n2 failed"
    assert all(line.startswith("| ") for line in lines[2:])
    assert "| 2026-01-01 00:00:00 INFO all is well" in lines


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_description_cannot_write_a_line_into_the_agents_log(form: str) -> None:
    written = StringIO()
    logger = configure(form, written)
    at = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    logger.warning("the event says %s", f"x\n{at} info all is well\x1b[2J", extra={"why": "a\nb"})
    logger.handlers.clear()
    assert len(written.getvalue().splitlines()) == 1
    assert "\x1b" not in written.getvalue()
    assert sys.stderr is not written
