"""What runs inside a VM of the demo: a reader of documents that approves when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from forewarn.terms import Document, ScheduledEvent
from forewarn.wire.document import decode_document
from forewarn.wire.start_requests import encode_start_requests

_PATH = "/vm/{name}/metadata/scheduledevents?api-version=2020-07-01"
_WAIT_SECONDS = 20  # less than the 30 s that clients usually ask for; the answer comes at once when something changes
_PATIENCE_SECONDS = 60.0  # real time; at the demo's speed that is hours


class StoryWentWrong(Exception):  # noqa: N818 - it reads as the sentence it is
    """The region did not do what the story says."""


class Guest:
    """One VM's reader, on a thread of its own, over a real connection."""

    def __init__(self, metadata: str, name: str) -> None:
        self.name = name
        self._address = urlsplit(metadata)
        self._documents: list[Document] = []
        self._changed = threading.Condition()
        self._gone = False
        self._closing = False
        threading.Thread(target=self._read_on, name=f"guest {name}", daemon=True).start()

    def close(self) -> None:
        self._closing = True

    def has_read(self) -> None:
        """Wait for the first document, which is what enables the scope."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._documents, _PATIENCE_SECONDS):
                raise StoryWentWrong(f"{self.name} never got a document")

    def approve(self, event: ScheduledEvent) -> None:
        connection = self._connect()
        try:
            body = encode_start_requests([event.event_id])
            connection.request("POST", _PATH.format(name=self.name), body, {"Metadata": "true"})
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != 200:
            raise StoryWentWrong(f"the approval by {self.name} was answered with {status}")

    def sees(self, what: str, wanted: Callable[[Document], ScheduledEvent | None]) -> tuple[Document, ScheduledEvent]:
        """The first document, from the last one looked at on, that shows what is wanted."""
        with self._changed:
            if self._changed.wait_for(lambda: any(map(wanted, self._documents)), _PATIENCE_SECONDS):
                while (found := wanted(self._documents[0])) is None:
                    self._documents.pop(0)
                return self._documents[0], found
        raise StoryWentWrong(f"{self.name} never saw {what}")

    def sees_no(self, event_id: str) -> None:
        """Wait until the event has left the document, or the VM has left the world."""
        with self._changed:
            if self._changed.wait_for(lambda: self._gone or self._without(event_id), _PATIENCE_SECONDS):
                return
        raise StoryWentWrong(f"{self.name} still sees event {event_id}")

    def _without(self, event_id: str) -> bool:
        return bool(self._documents) and all(event.event_id != event_id for event in self._documents[-1].events)

    def _connect(self) -> HTTPConnection:
        return HTTPConnection(self._address.hostname or "", self._address.port, timeout=_PATIENCE_SECONDS)

    def _read_on(self) -> None:
        connection, etag = self._connect(), "0"
        while not self._closing:
            headers = {"Metadata": "true", "If-None-Match": etag, "Prefer": f"wait={_WAIT_SECONDS}"}
            try:
                connection.request("GET", _PATH.format(name=self.name), headers=headers)
                response = connection.getresponse()
                body, status = response.read(), response.status
            except (OSError, HTTPException):
                status, body = 0, b""
            if status == 200:
                etag = response.headers.get("ETag", "0")
            if not self._note(status, body):
                break
        connection.close()

    def _note(self, status: int, body: bytes) -> bool:
        """Keep a document; False once there is nothing left to read."""
        with self._changed:
            document = decode_document(body) if status == 200 else None
            if document is not None:
                self._documents.append(document)
            self._gone = status not in (200, 304)
            self._changed.notify_all()
            return not self._gone
