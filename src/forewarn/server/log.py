"""The server's log, one line an entry: line breaks in what callers sent cannot forge an entry (log injection).

As text for people, or as JSON for programs that collect logs, one object a line.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any


def configure(level: str, form: str = "text") -> None:
    """Everything that the server says goes to standard error, as ``text`` or as ``json``."""
    handler = logging.StreamHandler(sys.stderr)
    plain = OneLineFormatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonFormatter() if form == "json" else plain)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it would tell our own story a second time


class OneLineFormatter(logging.Formatter):
    """A line break or an escape in a message is written out; the lines of a traceback begin with a bar."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        record.message = _written_out(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's own name
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]  # handed on as it came
        return "\n".join(f"| {_written_out(line)}" for line in lines)


class JsonFormatter(logging.Formatter):
    """An object with ``time``, ``level``, ``logger`` and ``message``, the traceback as ``exception``, and what the
    entry has as ``fields``: those of a request stand at the top, too.
    """

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        told |= {name: value for name, value in getattr(record, "fields", {}).items() if name not in told}
        return json.dumps(told)  # escapes every line break and all that is not ASCII


def _written_out(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
