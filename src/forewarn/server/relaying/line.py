"""HTTP to an upstream: one request on a connection of its own, its answer whole or as it comes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httptools
import msgspec

_PIECE = 64 * 1024  # bytes of one read; as asyncio's own buffer
_MOST_ANSWER = 1024 * 1024  # ours: bytes of an answer that is no stream; they have a hundred
_PORTS = {"http": 80, "https": 443}  # RFC 9110, 4.2


class UpstreamFault(Exception):  # noqa: N818 - the name says enough
    """The upstream did not answer. ``asked`` tells whether it may have heard the question."""

    def __init__(self, sentence: str, *, asked: bool) -> None:
        super().__init__(sentence)
        self.asked = asked


class UpstreamRefusal(Exception):  # noqa: N818 - an answer, not an error
    """The upstream has said no, in a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Upstream:
    """Where a node's control face is, and who asks there."""

    url: str
    token: str = ""
    connect_seconds: float = 5.0  # ours: a node on the same network takes a millisecond
    answer_seconds: float = 25.0  # a write may wait for its store for 20 s (docs/nodes.md)

    async def ask(self, path: str, body: Any) -> bytes:
        """The body of the answer to a POST."""
        try:
            async with asyncio.timeout(self.connect_seconds + self.answer_seconds), self.open(path, body) as answer:
                found = bytearray()
                async for piece in answer:
                    found += piece
                    if len(found) > _MOST_ANSWER:
                        raise UpstreamFault(f"{self.url} answers without end.", asked=True)
                return bytes(found)
        except TimeoutError:
            raise UpstreamFault(f"{self.url} did not answer in time.", asked=True) from None

    @asynccontextmanager
    async def open(self, path: str, body: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        """The answer to a POST in pieces, as they come, once its head was good."""
        reader, writer = await self._connect()
        try:
            writer.write(self._request(path, msgspec.json.encode(body)))
            answer = _Answer(reader, self.url)
            async with asyncio.timeout(self.answer_seconds):
                await answer.head()
            yield answer.pieces()
        except TimeoutError:
            raise UpstreamFault(f"{self.url} did not answer in time.", asked=True) from None
        except OSError as problem:
            raise UpstreamFault(f"{self.url} went away: {problem.strerror or problem}.", asked=True) from None
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = urlsplit(self.url)
        secure = ssl.create_default_context() if parts.scheme == "https" else None
        port = parts.port or _PORTS[parts.scheme]
        try:
            async with asyncio.timeout(self.connect_seconds):
                return await asyncio.open_connection(parts.hostname, port, ssl=secure, limit=_PIECE)
        except TimeoutError:
            raise UpstreamFault(f"{self.url} does not answer.", asked=False) from None
        except OSError as problem:  # a certificate that is not believed is one, too
            raise UpstreamFault(f"{self.url} cannot be reached: {problem.strerror or problem}.", asked=False) from None

    def _request(self, path: str, body: bytes) -> bytes:
        fields = [
            f"POST {urlsplit(self.url).path.rstrip('/')}{path} HTTP/1.1",
            f"Host: {urlsplit(self.url).netloc.rpartition('@')[2]}",
            "Connection: close",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "X-Forewarn-Client: forewarn relay",
        ]
        if self.token:
            fields.append(f"Authorization: Bearer {self.token}")
        return "".join(f"{field}\r\n" for field in fields).encode() + b"\r\n" + body


class _Answer:
    """Called by the parser."""

    def __init__(self, reader: asyncio.StreamReader, url: str) -> None:
        self._reader = reader
        self._url = url
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._has_head = self._is_over = False

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        self._is_over = True

    async def head(self) -> None:
        while not self._has_head:
            await self._read()
        status = self._parser.get_status_code()
        if status >= 300:
            said = b"".join([piece async for piece in self.pieces()])
            raise UpstreamRefusal(status, _sentence(said) or f"{self._url} answered with status {status}.")

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            found, self._pieces = self._pieces, []
            for piece in found:
                yield piece
            if self._is_over:
                return
            if not self._pieces:
                await self._read()

    async def _read(self) -> None:
        data = await self._reader.read(_PIECE)
        if not data:
            raise UpstreamFault(f"{self._url} ended the connection.", asked=True)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            raise UpstreamFault(f"{self._url} does not speak HTTP.", asked=True) from None


def _sentence(body: bytes) -> str:
    """The sentence in an error of the control face; empty where there is none."""
    try:
        found = msgspec.json.decode(body)["error"]["message"]
    except (msgspec.DecodeError, LookupError, TypeError):
        return ""
    return str(found)
