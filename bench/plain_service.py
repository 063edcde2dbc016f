"""A metadata service that holds nothing back and knows no tags, as Azure's: its guests must poll."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.utils import format_datetime
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, cast

from forewarn.plane.clock import wall_time

VM = "web-0"
_NOTICE = timedelta(minutes=15)
_NAMED = json.dumps({"compute": {"name": VM, "vmId": "0DA5BE1E-1E0F-4B4C-9C0F-000000000001"}}).encode()


class PlainService(ThreadingTCPServer):
    """One document for all who ask, whatever path they have; ``show`` changes it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.port: int = self.server_address[1]
        self.read_at: dict[str, float] = {}  # the path's first part, and when its document was first asked for
        self.reads = 0
        self.asked = threading.Condition()
        self._incarnation = 0
        self.body = b""
        self.show()

    def show(self, *events: dict[str, Any]) -> None:
        self._incarnation += 1
        self.body = json.dumps({"DocumentIncarnation": self._incarnation, "Events": events}).encode()

    def answer(self, target: str) -> bytes:
        guest, _, rest = target.lstrip("/").partition("/")
        if rest.startswith("metadata/instance"):
            return _NAMED
        with self.asked:
            self.reads += 1
            self.read_at.setdefault(guest, time.perf_counter())
            self.asked.notify_all()
        return self.body


class _Connection(StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        try:
            while line := self.rfile.readline():
                target, length = line.decode("latin-1").split(" ")[1], 0
                while (field := self.rfile.readline().strip()) != b"":
                    name, _, value = field.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                self.rfile.read(length)
                self.wfile.write(_response(cast(PlainService, self.server).answer(target)))
        except ConnectionError:
            return  # an agent that was ended


def _response(body: bytes) -> bytes:
    date = format_datetime(wall_time(), usegmt=True)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: {date}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def reboot(number: int) -> dict[str, Any]:
    """An event as a document tells it."""
    return {
        "EventId": f"0DA5BE1E-1E0F-4B4C-9C0F-{number:012d}",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": [VM],
        "EventStatus": "Scheduled",
        "NotBefore": format_datetime(wall_time() + _NOTICE, usegmt=True),
        "Description": "Virtual machine is going to be restarted.",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
    }


@contextmanager
def plain_service() -> Iterator[PlainService]:
    with PlainService() as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()
