"""Between an engine under test and a daemon: loses an answer, swallows a request, or refuses it, when it is told to."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path


class Relay:
    """One connection a request, as the engine makes them. Only requests that change something meet with a mishap."""

    def __init__(self, path: Path, daemon: str) -> None:
        self.path = str(path)
        self.mishaps: list[tuple[str, str]] = []
        self.on_asked: Callable[[], None] = nothing  # a change has gone to the daemon, whose answer is not there yet
        self.on_answered: Callable[[], None] = nothing  # the daemon has answered, and nobody was told
        self._daemon = daemon
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), contextlib.ExitStack() as ending:
            ending.callback(client.shutdown, socket.SHUT_RDWR)  # another thread may be reading from it
            request = _whole_request(client)
            changes = request.startswith((b"POST ", b"DELETE "))
            what, sentence = self.mishaps.pop(0) if changes and self.mishaps else ("", "")
            if what == "hangs":
                return
            if what.startswith("refused"):
                status = 400 if what == "refused for good" else 500
                body = json.dumps({"message": sentence}).encode()
                client.sendall(b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))
                return
            self._forward(client, request, changes=changes, quiet=what == "answer lost")

    def _forward(self, client: socket.socket, request: bytes, *, changes: bool, quiet: bool) -> None:
        """As long as either side goes on; an answer that is lost is waited for all the same."""
        with socket.socket(socket.AF_UNIX) as there:
            there.connect(self._daemon)
            head, _, body = request.partition(b"\r\n\r\n")
            there.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
            if changes:
                self.on_asked()
            threading.Thread(target=_end_with, args=(client, there), daemon=True).start()
            while data := there.recv(65536):
                if changes:
                    self.on_answered()
                if not quiet:
                    client.sendall(data)

    def close(self) -> None:
        """Nobody answers here any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        Path(self.path).unlink(missing_ok=True)


def nothing() -> None:
    """What happens at an instant nobody cares for."""


def _whole_request(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0]):
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body


def _end_with(client: socket.socket, there: socket.socket) -> None:
    """When the client goes, so does what was asked for it."""
    with contextlib.suppress(OSError):
        client.recv(1)
        there.shutdown(socket.SHUT_RDWR)
