"""How times are read and written, and how tables fit."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.cli.output import Column, Output, Progress
from forewarn.cli.times import parse_duration, parse_instant, show_distance, show_duration, show_instant

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900), ("90s", 90), ("2h", 7200), ("7d", 604800), ("1h30m", 5400), ("0", 0), ("0s", 0), ("1.5s", 1.5),
        ("250ms", 0.25), ("15min", 900), ("15mins", 900), ("2hours", 7200), ("1hr30min", 5400),
        ("1day", 86400), ("90sec", 90), ("3minutes", 180),
        ("PT15M", 900), ("pt15m", 900), ("P1D", 86400), ("P1DT2H", 93600), ("PT1.5S", 1.5),
    ],
)  # fmt: skip
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize(
    "text", ["", "15", "m", "15 m", "15mi", "P", "PT", "1h-", "soon", "\N{ARABIC-INDIC DIGIT ONE}m", "1e3s", "P1DT"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


def test_a_duration_that_lies_in_the_past_is_told_so() -> None:
    with pytest.raises(ValueError, match="'-1m' lies in the past, and time only goes forward"):
        parse_duration("-1m")


@given(st.integers(0, 3 * 365 * 86_400).map(lambda seconds: timedelta(seconds=seconds)))
def test_a_shown_duration_reads_back_as_itself(value: timedelta) -> None:
    assert parse_duration(show_duration(value)) == value


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (900, "in 15 min"),
        (5400, "in 1 h 30 min"),
        (-7200, "2 h ago"),
        (0, "now"),
        (604800, "in 7 d"),
        (59.6, "in 1 min"),
    ],
)
def test_distances_are_told_as_people_do(gap: float, words: str) -> None:
    assert show_distance(NOON + timedelta(seconds=gap), NOON) == words


def test_an_instant_without_an_offset_is_utc() -> None:
    assert parse_instant("2026-01-01T12:00:00") == NOON
    assert show_instant(parse_instant("2026-01-01T13:00:00+01:00")) == "2026-01-01T12:00:00Z"
    with pytest.raises(ValueError, match="is not an instant"):
        parse_instant("noon")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


COLUMNS = (Column("NAME"), Column("N", right=True), Column("WHAT", flexible=True))
ROWS = [("web-0", 7, "running"), ("db", 12, "a rather long story that does not fit")]


def at_terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """From here on what is printed goes to a screen of 30 columns."""
    screen = _Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return screen


def test_a_pipe_gets_every_character_and_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(COLUMNS, ROWS)

    assert capsys.readouterr().out.splitlines() == [
        "NAME    N  WHAT",
        "web-0   7  running",
        "db     12  a rather long story that does not fit",
    ]


def test_a_terminal_gets_rows_that_fit_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)

    Output().table(COLUMNS, ROWS)

    assert "\x1b[1mNAME    N  WHAT" in terminal.getvalue()
    assert "\x1b[32mrunning" in terminal.getvalue()
    assert "db     12  a rather long stor…" in terminal.getvalue()


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")

    Output().table(COLUMNS, ROWS)

    assert "web-0" in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def test_a_name_cannot_move_the_readers_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table((Column("NAME"),), [("evil\x1b[2J\n",)])

    assert "\x1b" not in capsys.readouterr().out


def test_progress_is_for_a_person_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    shown, silent = Progress("creating", 10, shown=True), Progress("creating", 10, shown=False)

    shown.advance(5)
    silent.advance(5)
    shown.clear()

    assert terminal.getvalue() == "\rcreating: 5 of 10 (50 %)\r\x1b[K"
