"""Docker's API over its Unix socket: HTTP by the standard library, with a deadline for every call.

Not Docker's own SDK for Python: a dozen calls are needed, each with a deadline for all of it (the SDK has one for each
read), and podman and dockerd are looked at, never believed; a server would carry three more packages for it.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from forewarn.plane.hands.engine import EngineFault

ANSWER_MOST = 64 * 1024 * 1024  # a listing of ten thousand containers has some 20 MB; ours
WORDS_MOST = 400  # of an engine's sentence, as it is passed on; ours
_OLDEST_API = (1, 41)  # that of Debian 12's dockerd and podman, with which all of this was tried


class EngineAnswer(Struct, frozen=True):
    """What the engine said to one call."""

    status: int
    body: bytes

    @property
    def fine(self) -> bool:
        """Done, or (304) as it was already. Other numbers mean different things to dockerd and podman: look."""
        return self.status < 400

    def value(self) -> Any:
        try:
            return json.loads(self.body) if self.body.strip() else None
        except ValueError:
            raise EngineFault("The engine's answer is not JSON: is this a Docker-compatible socket?") from None

    def words(self) -> str:
        """The engine's own sentence, where it has one."""
        try:
            said = json.loads(self.body).get("message", "")
        except (ValueError, AttributeError):
            said = self.body.decode("utf-8", "replace")
        return " ".join(str(said).split())[:WORDS_MOST] or f"HTTP {self.status}"


class Dialect(Struct, frozen=True):
    """Which engine answers at a socket, and which version of the API to ask it in."""

    prefix: str
    podman: bool


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float | None) -> None:
        super().__init__("engine", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        if sys.platform == "win32":
            raise OSError("an engine is reached by a socket in the file system, which Windows has not")
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(self.timeout)
            made.connect(self._path)
        except BaseException:
            made.close()
            raise
        self.sock = made


class EngineSocket:
    """One engine behind its socket. May be used by several threads at once: each call has a connection of its own."""

    def __init__(self, path: str, call_seconds: float) -> None:
        self.path = path
        self.call_seconds = call_seconds
        self._dialect: Dialect | None = None
        self._streams: set[_Connection] = set()
        self._guard = threading.Lock()
        self._closed = False

    def dialect(self) -> Dialect:
        """Asked for once: the version of the API stays valid when the engine is renewed under us."""
        if self._dialect is None:
            said = self._call("GET", "/version", None, self.call_seconds).value() or {}
            names = [str(part.get("Name", "")) for part in said.get("Components") or ()]
            version = max(_OLDEST_API, _version(said.get("MinAPIVersion", "1.0")))
            self._dialect = Dialect(f"/v{version[0]}.{version[1]}", any("podman" in name.lower() for name in names))
        return self._dialect

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        *,
        more_seconds: float = 0.0,
    ) -> EngineAnswer:
        """One call. ``more_seconds``: what the engine itself is asked to wait before it answers."""
        target = self.dialect().prefix + quote(path) + (f"?{urlencode(query)}" if query else "")
        return self._call(method, target, body, self.call_seconds + more_seconds)

    def _call(self, method: str, target: str, body: object, seconds: float) -> EngineAnswer:
        connection = _Connection(self.path, seconds)
        ends = time.monotonic() + seconds
        try:
            self._connect(connection)
            try:
                headers = {} if body is None else {"Content-Type": "application/json"}
                connection.request(method, target, None if body is None else json.dumps(body), headers)
                return _read(connection, ends, seconds)
            except (OSError, http.client.HTTPException) as error:
                raise EngineFault(
                    f"The engine at {self.path} was lost in the middle of a call that it may have heard: {_why(error)}."
                ) from None
        finally:
            connection.close()

    def _connect(self, connection: _Connection) -> None:
        try:
            connection.connect()
        except OSError as error:
            raise EngineFault(
                f"Nobody answers at the engine's socket {self.path}: {_why(error)}. Is the engine running, and may "
                "forewarn open its socket?"
            ) from None

    def stream(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        """The JSON values that the engine sends, one a line, until it or ``close`` ends that."""
        target = self.dialect().prefix + path + f"?{urlencode(query)}"
        connection = _Connection(self.path, None)
        try:
            self._connect(connection)
            with self._guard:
                if self._closed:
                    return
                self._streams.add(connection)
            connection.request("GET", target)
            response = connection.getresponse()
            while line := response.readline(ANSWER_MOST):
                if line.strip():
                    yield json.loads(line)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise EngineFault(f"The engine at {self.path} tells no more of what changes: {_why(error)}.") from None
        finally:
            with self._guard:
                self._streams.discard(connection)
            connection.close()

    def close(self) -> None:
        """End what is being watched."""
        with self._guard:
            self._closed = True
            open_now = list(self._streams)
        for connection in open_now:
            if connection.sock is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)


def _read(connection: _Connection, ends: float, seconds: float) -> EngineAnswer:
    response = connection.getresponse()
    body = bytearray()
    while part := response.read1(65536):
        body += part
        left = ends - time.monotonic()
        if left <= 0 or len(body) > ANSWER_MOST:
            raise EngineFault(f"The engine was still answering after {seconds:g} s, with {len(body)} bytes.")
        if connection.sock is not None:  # None once the answer says that nothing follows
            connection.sock.settimeout(left)
    return EngineAnswer(response.status, bytes(body))


def _version(text: object) -> tuple[int, int]:
    major, _, minor = str(text).partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (1, 0)


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
