"""Somebody who is told things by webhook: a real socket that answers as it was told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Room:
    """A chat room that answers as it was told, and then well."""

    url: str
    answers: list[int] = field(default_factory=list)
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    entered: threading.Event = field(default_factory=threading.Event)
    gate: threading.Event = field(default_factory=threading.Event)

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.heard]

    @property
    def texts(self) -> list[str]:
        return [json.loads(body)["text"] for _, body in self.heard]


@contextmanager
def serving(room: Room) -> Iterator[Room]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            room.heard.append((dict(self.headers), body))
            room.entered.set()
            assert room.gate.wait(30)
            status = room.answers.pop(0) if room.answers else 200
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", room.url + "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            raise AssertionError("nobody was to look at this")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        room.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield room
        finally:
            room.gate.set()
            server.shutdown()
            thread.join()
