"""What a guest can ask for, each as an exchange: the document, an approval, who it is, and the stream of news."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from forewarn.guest.exchange import COMMON_HEADERS, Ask, Exchange, Give, ServiceLine, Sleep, TellFault
from forewarn.guest.faults import Fault, Refused, Unavailable
from forewarn.guest.http1 import OutgoingRequest, Response
from forewarn.guest.instance import INSTANCE_VERSIONS, Instance, decode_instance
from forewarn.guest.reading import Reading
from forewarn.guest.versions import Ladder
from forewarn.guest.watch import Watcher
from forewarn.terms import Document
from forewarn.wire.document import decode_document
from forewarn.wire.json_bytes import WireError
from forewarn.wire.start_requests import encode_start_requests
from forewarn.wire.times import parse_instant
from forewarn.wire.versions import API_VERSIONS

_T = TypeVar("_T")


class Session:
    """The exchanges of one client."""

    def __init__(self, line: ServiceLine) -> None:
        self.line = line
        self.versions = Ladder(line.manners.api_version, [version.date for version in API_VERSIONS])
        self._instance_versions = Ladder(INSTANCE_VERSIONS[0], INSTANCE_VERSIONS)

    # Single questions

    def document(self) -> Exchange[Document | None]:
        """What is there now; None where the service answers and tells nothing."""
        return (yield from self._insist(_read_request(), self.versions, _document_in))

    def approve(self, event_ids: tuple[str, ...]) -> Exchange[None]:
        """Let these events start. A repeated approval does no harm, so it is repeated until it is answered."""
        if not event_ids:
            raise ValueError("An approval names at least one event.")
        body = encode_start_requests(event_ids)

        def ask(version: str) -> OutgoingRequest:
            headers = (*COMMON_HEADERS, ("Content-Type", "application/json"))
            return OutgoingRequest("POST", _events_target(version), headers, body)

        yield from self._insist(ask, self.versions, lambda response: None)

    def instance(self) -> Exchange[Instance]:
        """Who this VM is."""

        def ask(version: str) -> OutgoingRequest:
            return OutgoingRequest("GET", f"/metadata/instance?api-version={version}", COMMON_HEADERS)

        return (yield from self._insist(ask, self._instance_versions, lambda response: decode_instance(response.body)))

    def _insist(self, ask: Ask, ladder: Ladder, read: Callable[[Response], _T]) -> Exchange[_T]:
        """Try until there is an answer, the service refuses for good, or patience is over."""
        line, tries = self.line, 0
        ends_at = line.clock.monotonic() + line.manners.patience_seconds
        while True:
            answer = yield from line.attempt(ask, ladder)
            result = answer if isinstance(answer, Fault) else _readable(answer, read)
            if not isinstance(result, Fault):
                return result.value
            if result.lasting:
                raise Refused(result)
            tries += 1
            delay = line.backoff_seconds(result, tries)
            if line.clock.monotonic() + delay > ends_at:
                raise Unavailable(result)
            yield TellFault(result, delay)
            yield Sleep(delay)

    # Streams

    def readings(self) -> Exchange[None]:
        """Look again and again, for ever; gives a ``Reading`` for each look, faults among them.

        A server that holds answers back until there is news is let do so; any other is polled. After a fault nothing
        is assumed: the next question asks for the whole document, whatever number it had.
        """
        line, known, tries = self.line, _Known(), 0
        while True:
            began = line.clock.monotonic()
            ask = _read_request(known.etag, known.version, line.manners.wait_seconds)
            held = line.manners.wait_seconds if known.may_hold else 0
            answer = yield from line.attempt(ask, self.versions, held_seconds=held)
            known.stand_on(self.versions.current)
            result = answer if isinstance(answer, Fault) else _readable(answer, known.learn)
            if isinstance(result, Fault):
                tries, known = tries + 1, _Known(known.document)
                delay = line.backoff_seconds(result, tries)
                yield TellFault(result, delay)
                yield Give(Reading(self._time_of(answer), fault=result, retry_seconds=delay))
                yield Sleep(delay)
                continue
            tries, news = 0, known.told and not result.value
            document = known.document if known.told else None
            yield Give(
                Reading(self._time_of(answer), document, unchanged=result.value, api_version=self.versions.current)
            )
            gap = line.manners.least_gap_seconds if known.may_hold and news else line.manners.poll_seconds
            if (left := began + gap - line.clock.monotonic()) > 0:
                yield Sleep(left)

    def changes(self, watcher: Watcher) -> Exchange[None]:
        """What happens to events; gives a ``Change`` for each.

        Faults are waited out. Only a service that refuses before it was ever read ends it, with ``Refused``.
        """
        readings, outcome, read = self.readings(), None, False
        while True:
            action = readings.send(outcome)
            outcome = None
            if not isinstance(action, Give):
                outcome = yield action
                continue
            reading = action.item
            assert isinstance(reading, Reading)
            if reading.fault is not None and reading.fault.lasting and not read:
                raise Refused(reading.fault)
            read = read or reading.fault is None
            for change in watcher.see(reading.document, reading.at, reading.api_version):
                yield Give(change)

    def _time_of(self, answer: Response | Fault) -> datetime:
        """The service's, where it tells: it is the time that NotBefore is meant in."""
        told = answer.headers.get("date", "") if isinstance(answer, Response) else ""
        try:
            return parse_instant(told) or self.line.clock.now()
        except WireError:
            return self.line.clock.now()


@dataclass(slots=True)
class _Known:
    """What a stream has learned of the server it reads from."""

    document: Document | None = None
    etag: str = ""
    version: str = ""  # under which the etag was told, and is sent
    told: bool = False  # whether the last answer said what the document is
    holds: bool = True  # whether the server holds answers back; believed until it was asked to and did not say so

    @property
    def may_hold(self) -> bool:
        """Whether the server may hold the next answer back (long polling).

        It does so only for a request with an etag.
        """
        return bool(self.etag) and self.holds

    def stand_on(self, version: str) -> None:
        """The version that was asked with in the end. Under another than before, the tag was not sent."""
        if version != self.version:
            self.version, self.etag = version, ""

    def learn(self, response: Response) -> bool:
        """Take an answer in. Whether the document is the one that was known before."""
        self.holds = not self.etag or "wait" in response.headers.get("preference-applied", "").lower()
        if response.status == 304:
            self.told = self.document is not None
            self.etag = self.etag if self.told else ""
            return self.told
        before, document = self.document, decode_document(response.body)
        self.told = document is not None
        self.etag = response.headers.get("etag", "") if self.told else ""
        if document is not None:
            self.document = document
        return self.told and document == before


@dataclass(frozen=True, slots=True)
class _Read(Generic[_T]):
    value: _T


def _readable(response: Response, read: Callable[[Response], _T]) -> _Read[_T] | Fault:
    """The decoded answer, or a ``Fault``: the next one may be whole."""
    try:
        return _Read(read(response))
    except WireError as problem:
        return Fault(f"the metadata service's answer cannot be read: {problem}", status=response.status)


def _document_in(response: Response) -> Document | None:
    return decode_document(response.body)


def _read_request(etag: str = "", etag_version: str = "", wait_seconds: int = 0) -> Ask:
    """A GET, with the etag only under the api-version that it came with: under another it would hide events."""
    patient = (("Prefer", f"wait={wait_seconds}"),) if wait_seconds else ()

    def ask(version: str) -> OutgoingRequest:
        known = (("If-None-Match", etag),) if etag and version == etag_version else ()
        return OutgoingRequest("GET", _events_target(version), (*COMMON_HEADERS, *known, *patient))

    return ask


def _events_target(version: str) -> str:
    return f"/metadata/scheduledevents?api-version={version}"
