"""The request log: one line for each answer of a face, where the server's owner has asked for it."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

_log = logging.getLogger("forewarn.requests")
_REQUEST_ID = re.compile(rb"\r\nx-(?:ms-)?request-id: ([^\r]+)", re.IGNORECASE)

# https://www.w3.org/TR/trace-context/, 3.2: version, trace id, id of the caller's span, flags; later versions may add
_SHAPE = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_INVALID_VERSION = "ff"


@dataclass(frozen=True, slots=True)
class TraceParent:
    """W3C's header ``traceparent`` of one request: the whole trace, and the span of the caller."""

    trace_id: str
    span_id: str
    sampled: bool


def trace_parent(field: str) -> TraceParent | None:
    """What the header says; None where it is not there or not right, which is then as if it were not there."""
    found = _SHAPE.fullmatch(field.strip())
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    is_whole = version != _INVALID_VERSION and (version != "00" or more is None)
    if not is_whole or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceParent(trace_id, span_id, bool(int(flags, 16) & 1))


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """A request and what became of it."""

    face: str
    method: str
    target: str  # with its query: no secret of ours travels in one
    status: int
    caller: str = ""
    vm: str = ""
    seconds: float | None = None
    request_id: str = ""
    traceparent: str = ""


def switch_on(*, written: bool = True) -> None:
    """Make the request log, whatever level the log has. ``written`` False: only for handlers added by ``hear``."""
    _log.setLevel(logging.INFO)
    _log.propagate = written


def hear(handler: logging.Handler) -> None:
    """Each answer comes to ``handler``, too, as the attribute ``answered`` of its record."""
    _log.addHandler(handler)


def hear_no_more(handler: logging.Handler) -> None:
    _log.removeHandler(handler)


def tell(answered: LoggedAnswer) -> None:
    """A line for people, and the same as fields for programs."""
    trace = trace_parent(answered.traceparent)
    fields: dict[str, object] = {
        "face": answered.face,
        "from": answered.caller,
        "vm": answered.vm,
        "seconds": None if answered.seconds is None else round(answered.seconds, 6),
        "request_id": answered.request_id,
        "trace_id": trace.trace_id if trace else "",
    }
    said = {name: value for name, value in fields.items() if value not in ("", None)}
    told = " ".join(f"{name}={value}" for name, value in said.items())
    about = {"method": answered.method, "target": answered.target, "status": answered.status, **said}
    line = "%s %s %d %s"
    _log.info(
        line, answered.method, answered.target, answered.status, told, extra={"fields": about, "answered": answered}
    )


def request_id_in(response: bytes) -> str:
    """The id that the head of a response carries."""
    found = _REQUEST_ID.search(response)
    return found[1].decode("latin-1") if found else ""
