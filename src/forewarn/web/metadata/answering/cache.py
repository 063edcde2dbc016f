"""Answers as bytes. All of a response that does not change from one request to the next is made once and kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import NamedTuple

from forewarn import __version__
from forewarn.core.region import Event, Region, Scope
from forewarn.web.documents.document import document_bytes
from forewarn.wire.document import NotBeforeFormat
from forewarn.wire.errors import JSON, ErrorReply
from forewarn.wire.times import format_rfc1123
from forewarn.wire.versions import ApiVersion

_SERVER = f"IMDS/forewarn-{__version__}"
_MOST_KEPT = 20_000  # ours: documents; as many VMs as one node is measured with (docs/performance.md, callers)
_BODYLESS = frozenset({204, 304})  # RFC 9110, 15.3.5 and 15.4.5


STATUS = slice(9, 12)  # of an answer's bytes: "HTTP/1.1 " stands before it


class Reply(NamedTuple):
    """A response with a gap in its head for the two fields that differ each time: the request's id and the date."""

    before: bytes
    after: bytes
    request_id: str = ""  # where it was needed before the answer was ready

    def with_field(self, name: str, value: str) -> Reply:
        """The same response with one more header field."""
        return self._replace(after=f"{name}: {value}\r\n".encode("latin-1") + self.after)

    def without_body(self) -> Reply:
        """What a HEAD request gets."""
        head, end, _ = self.after.partition(b"\r\n\r\n")
        return self._replace(after=head + end)


def reply_to(answer: ErrorReply) -> Reply:
    """The response for an answer."""
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    if answer.status not in _BODYLESS:
        lines.append(f"Content-Type: {answer.content_type}")
    lines += [f"{name}: {value}" for name, value in answer.headers]
    lines.append(f"Server: {_SERVER}")
    before = "".join(f"{line}\r\n" for line in lines).encode("latin-1")
    if answer.status in _BODYLESS:
        return Reply(before, b"\r\n")
    return Reply(before, b"Content-Length: %d\r\n\r\n" % len(answer.body) + answer.body)


class Signer:
    """Fills in request id and Date.

    Ids have the shape of GUIDs: a part that differs from process to process, then a count.
    """

    def __init__(self, now: Callable[[], datetime], seed: bytes) -> None:
        text = seed[:8].hex()
        self._now = now
        self._prefix = f"{text[:8]}-{text[8:12]}-4{text[12:15]}-8{text[13:16]}-"
        self._field = f"x-ms-request-id: {self._prefix}".encode()
        self._count = 0
        self._date = b""
        self._second_ends = datetime.min.replace(tzinfo=UTC)

    def mint(self) -> str:
        """An id for a request whose id is needed before its answer is ready."""
        self._count += 1
        return f"{self._prefix}{self._count:012x}"

    def sign(self, reply: Reply, now: datetime | None = None) -> bytes:
        """The whole response, under an id of its own; ``now`` where the caller has just looked."""
        now = now or self._now()
        if now >= self._second_ends:
            self._set_date(now)
        self._count += 1
        return b"%b%b%012x%b%b" % (reply.before, self._field, self._count, self._date, reply.after)

    def finish(self, reply: Reply) -> bytes:
        """The whole response, under the id it has already, if it has one."""
        if not reply.request_id:
            return self.sign(reply)
        self._set_date(self._now())
        return b"%bx-ms-request-id: %b%b%b" % (reply.before, reply.request_id.encode(), self._date, reply.after)

    def _set_date(self, now: datetime) -> None:
        """The region's time, so that a guest can set it against a NotBefore."""
        self._second_ends = now.replace(microsecond=0) + timedelta(seconds=1)
        self._date = f"\r\nDate: {format_rfc1123(now)}\r\n".encode()


class Served(NamedTuple):
    """A document in both forms: the 200 for readers that want it, the 304 for those that have it."""

    incarnation: int
    whole: Reply
    unchanged: Reply


class _Kept(NamedTuple):
    served: Served
    events: tuple[Event, ...]  # what it was made from


class DocumentCache:
    """Documents ready to send.

    What decides about the bytes is in the key or is compared at each look: the api-version and the incarnation, and
    the very values of the events. A value of the region never changes, an event that has changed is another value:
    so nothing has to be invalidated, and nothing here depends on when the core counts the incarnation up. The
    kind of the scope, which decides about names in the first version, goes with its events. Documents without events
    are shared by every scope that has come as far.
    """

    def __init__(self, not_before_format: NotBeforeFormat, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._not_before_format = not_before_format
        self._kept: OrderedDict[tuple[ApiVersion, int, tuple[str, ...]], _Kept] = OrderedDict()

    def served(self, region: Region, scope: Scope, version: ApiVersion) -> Served:
        """The scope's document in this version."""
        key = (version, scope.incarnation, scope.events)
        found = self._kept.get(key)
        events = region.events
        if found is not None and all(made_from is events.get(made_from.id) for made_from in found.events):
            return found.served
        if found is None and len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        served = self._encode(region, scope, version)
        self._kept[key] = _Kept(served, tuple(events[event_id] for event_id in scope.events))
        return served

    def _encode(self, region: Region, scope: Scope, version: ApiVersion) -> Served:
        body = document_bytes(region, scope, version, self._not_before_format)
        tag = (("ETag", f'"{scope.incarnation}"'),)
        whole, unchanged = ErrorReply(200, JSON, body, tag), ErrorReply(304, JSON, b"", tag)
        return Served(scope.incarnation, reply_to(whole), reply_to(unchanged))
