"""The agent's log: one line for each thing that happened, for eyes (text) or for programs (JSON)."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from forewarn.terms import ScheduledEvent

LOGGER_NAME = "forewarn.agent"

# What the journal of systemd understands at the beginning of a line.
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.DEBUG, 7))
_ABOUT = ("event_id", "event_type", "event_status")
_SHORT = 8  # the first group of a GUID: what eyes compare
_OWN = frozenset({*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName"})


def configure(
    log_format: str,
    stream: TextIO | None = None,
    *,
    level: int = logging.INFO,
    environment: Mapping[str, str] = os.environ,
) -> logging.Logger:
    """The agent's logger, writing in this format to the stream (standard error) and nowhere else."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    journal = "JOURNAL_STREAM" in environment and stream is None
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines(for_journal=journal))
    logger = logging.getLogger(LOGGER_NAME)
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
    return logger


def about(event: ScheduledEvent, **more: object) -> dict[str, object]:
    """What a line about an event carries beside its sentence; hand it over as ``extra``."""
    return {**dict(zip(_ABOUT, (event.event_id, event.type, event.status), strict=True)), **more}


class JsonLines(logging.Formatter):
    """``{"at": …, "level": …, "message": …, …}``: whatever else the line carries stands beside it."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": _instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_carried(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)


class TextLines(logging.Formatter):
    """``2026-01-01T12:00:00.000Z warning: sentence key=value [602D9444]``: the last is how an event's id begins.

    In the journal, which has its own time, only the rest. What else a line carries about its event (``about``) is for
    programs: the sentence says it.
    """

    def __init__(self, *, for_journal: bool = False) -> None:
        super().__init__()
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        carried = _carried(record)
        event_id = str(carried.get("event_id", ""))
        pairs = [f"{key}={_shown(value)}" for key, value in carried.items() if key not in _ABOUT]
        mark = [f"[{_printable(event_id[:_SHORT])}]"] if event_id else []
        text = " ".join([_printable(record.getMessage()), *pairs, *mark])
        if record.exc_info:
            text += f"\n{self.formatException(record.exc_info)}"
        if not self._for_journal:
            return f"{_instant(record)} {record.levelname.lower()}: {text}"
        priority = next((number for level, number in _PRIORITIES if record.levelno >= level), 7)
        return "\n".join(f"<{priority}>{line}" for line in text.splitlines())


def _instant(record: logging.LogRecord) -> str:
    return instant_text(datetime.fromtimestamp(record.created, UTC))


def instant_text(at: datetime) -> str:
    """For people: with the thousandths, of which the rest would be false."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _carried(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _OWN and not key.startswith("_")}


def _shown(value: object) -> str:
    text = _printable(str(value))
    return json.dumps(text, ensure_ascii=False) if not text or " " in text or '"' in text else text


def _printable(text: str) -> str:
    """Escape control characters: a program's output must not be able to forge a line of ours (log injection)."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
