"""A wire to PostgreSQL that breaks when a commit goes over it: before the server hears of it, or before its answer."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from enum import Enum, auto
from types import TracebackType


class Break(Enum):
    """What the next commit meets."""

    NONE = auto()
    BEFORE = auto()  # the server never hears of it
    AFTER = auto()  # the server does it, and the answer gets lost
    AFTER_FOR_GOOD = auto()  # and nobody gets through any more


class Lossy:
    """Passes everything on between ``port`` and the server, one thread for each direction of a connection."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.breaks = Break.NONE
        self._deaf = False
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Lossy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _close(self._listening)
        self._close_all_but()

    def heal(self) -> None:
        self._deaf, self.breaks = False, Break.NONE

    def _close_all_but(self, *spared: socket.socket) -> None:
        for each in self._open.difference(spared):
            _close(each)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._deaf:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target_port))
                self._open |= {client, server}
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                how = self.breaks if b"COMMIT\0" in data else Break.NONE
                if how is not Break.NONE:
                    self.breaks = Break.NONE
                    _close(client)
                if how is Break.AFTER_FOR_GOOD:
                    self._deaf = True
                    self._close_all_but(server)
                if how is not Break.BEFORE:
                    server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)  # it goes when it has done what it was told

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                with suppress(OSError):
                    client.sendall(data)
        _close(client)
        _close(server)


def _close(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
