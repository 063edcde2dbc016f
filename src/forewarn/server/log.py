"""The server's log, one line an entry: line breaks in what callers sent cannot forge an entry (log injection)."""

from __future__ import annotations

import logging
import sys


def configure(level: str) -> None:
    """Everything that the server says goes to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLineFormatter("%(asctime)s %(levelname)s %(message)s"))
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


def _written_out(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
