"""Requests by HTTP/1.1: over a Unix socket of this machine, or by https with a token.

The standard library's client, with one deadline for all of a call: the line of the answer, its headers and its body.
Each call has a connection of its own, redirections are not followed, and no proxy of the environment is asked.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from forewarn.engines.remote.messages import words_of
from forewarn.engines.remote.wire import ANSWER_MOST, WireAnswer
from forewarn.plane.hands.engine import EngineFault

Token = Callable[[], str]
_TOKEN_MOST = 4096  # letters; ours
_PORT = 443  # of https


class _TooLateError(OSError):
    """The deadline of the whole call has passed."""


class _Plain(socket.socket):
    """A socket whose every wait ends at one instant."""

    ends = 0.0

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(_left(self.ends))
        return super().recv_into(*args, **kwargs)


class _Encrypted(ssl.SSLSocket):
    """The same, inside TLS."""

    ends = 0.0

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(_left(self.ends))
        return super().recv_into(*args, **kwargs)


class HttpWire:
    """One address: ``unix:///run/engine.sock`` or ``https://engine.example:8443``."""

    def __init__(self, url: str, *, token: Token | None = None, ca: Path | None = None) -> None:
        self.where = url
        parts = urlsplit(url)
        self._path, self._base = "", parts.path.rstrip("/")
        if parts.scheme == "unix" and parts.path and not parts.netloc:
            self._path, self._base = parts.path, ""
        elif parts.scheme != "https" or not parts.hostname:
            raise EngineFault(
                f"An engine's address is unix:///path/of/a/socket or https://host:port; {_shown(url)} is neither."
            )
        elif parts.username or parts.password or parts.query or parts.fragment:
            raise EngineFault("An engine's address has no user, password or query in it; its token is in a file.")
        elif token is None:
            raise EngineFault(f"{url} wants a token: name the file that holds it (token_file).")
        self._host, self._port = parts.hostname or "engine", parts.port or _PORT
        self._token = token
        self._tls = None if self._path else _tls_context(ca)
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._closed = False

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        ends = time.monotonic() + seconds
        connection = http.client.HTTPConnection(self._host, self._port)
        connection.sock = self._connect(ends, seconds)
        try:
            self._send(connection, method, target, body)
            return _read(connection, ends, seconds)
        except (OSError, http.client.HTTPException, ValueError) as fault:
            raise EngineFault(
                f"The engine at {self.where} was lost in the middle of a call that it may have heard: {_why(fault)}."
            ) from None
        finally:
            with self._guard:
                self._open.discard(connection.sock)
            connection.close()

    def _send(self, connection: http.client.HTTPConnection, method: str, target: str, body: bytes | None) -> None:
        headers = {"Connection": "close", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token()}"
        connection.request(method, self._base + target, body, headers)

    def _connect(self, ends: float, seconds: float) -> socket.socket:
        try:
            made = self._opened(ends, seconds)
        except OSError as fault:
            raise EngineFault(
                f"Nobody answers at the engine's address {self.where}: {_why(fault)}. Is it running, and may forewarn "
                "reach it?"
            ) from None
        with self._guard:
            if self._closed:
                made.close()
                raise EngineFault("This engine has been closed.")
            self._open.add(made)
        return made

    def _opened(self, ends: float, seconds: float) -> socket.socket:
        if self._path:
            if sys.platform == "win32":
                raise OSError("a socket in the file system, which Windows has not")
            made = _Plain(socket.AF_UNIX, socket.SOCK_STREAM)
            made.ends = ends
            try:
                made.settimeout(seconds)
                made.connect(self._path)
            except BaseException:
                made.close()
                raise
            return made
        assert self._tls is not None
        plain = socket.create_connection((self._host, self._port), timeout=seconds)
        try:
            plain.settimeout(_left(ends))
            inside = self._tls.wrap_socket(plain, server_hostname=self._host)
        except BaseException:
            plain.close()
            raise
        assert isinstance(inside, _Encrypted)
        inside.ends = ends
        return inside

    def close(self) -> None:
        with self._guard:
            self._closed = True
            open_now = list(self._open)
        for each in open_now:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:  # it has ended by itself
                continue


def token_of(file: Path) -> Token:
    """What reads the token anew for each call, so that a new one can be put there while the server runs."""

    def read() -> str:
        try:
            found = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise EngineFault(f"The engine's token cannot be read from {file}: {_why(fault)}.") from None
        return checked_token(found, str(file))

    return read


def checked_token(text: str, where: str) -> str:
    """One that can stand in a header. What is wrong with it is said without repeating it."""
    if not text or len(text) > _TOKEN_MOST or not text.isascii() or not text.isprintable() or " " in text:
        raise EngineFault(f"{where} holds no token: one word of printable ASCII is wanted.")
    return text


def _tls_context(ca: Path | None) -> ssl.SSLContext:
    """Certificates are always checked; by those of ``ca`` alone where it is given."""
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError) as fault:
        raise EngineFault(f"{ca} holds no certificates that can be read: {_why(fault)}.") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _Encrypted
    return context


def _read(connection: http.client.HTTPConnection, ends: float, seconds: float) -> WireAnswer:
    response = connection.getresponse()
    body = bytearray()
    while part := response.read1(65536):
        body += part
        if time.monotonic() > ends or len(body) > ANSWER_MOST:
            raise EngineFault(f"The engine was still answering after {seconds:g} s or {ANSWER_MOST} bytes.")
    if response.length:
        raise EngineFault(f"The engine at the other end broke off {response.length} bytes before its answer's end.")
    return WireAnswer(response.status, bytes(body))


def _left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise _TooLateError("it was still answering when its time was over")
    return left


def _why(fault: Exception) -> str:
    """Of an error, what a person can act on; a fault of HTTP may quote what the engine sent."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({fault.verify_message}); name its authority (ca)"
    told = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return words_of(told)[:200] or type(fault).__name__


def _shown(url: str) -> str:
    """An address may hold a secret where none belongs."""
    return repr(url) if "@" not in url else "this one"
