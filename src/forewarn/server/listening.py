"""Sockets and the servers on them: what cannot listen says so in a sentence, what listens ends in good order."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from forewarn.server.guarded import Guarded
from forewarn.settings.errors import CannotListen, CommandFailed
from forewarn.settings.kinds import Address
from forewarn.web.sockets import error_words, server_socket

_BACKLOG = 1024  # connections the kernel holds until they are accepted; nginx 511, uvicorn 2048
_DATE_SECONDS = 1.0  # what a Date tells
GRACE_SECONDS = 15  # ours: for requests that have come; a write may wait for its store for most of that
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on
_ANY_HOST = "*"
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"  # of TLS 1.2: fresh keys, and encryption that proves itself; 1.3 has no other


def listen(address: Address, setting: str) -> socket.socket:
    """A socket bound by us rather than by uvicorn, so that a port in use is one sentence."""
    with explained(address, setting):
        return server_socket(address.host, address.port, _BACKLOG)


@contextmanager
def explained(address: Address, setting: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        if problem.errno == errno.EADDRINUSE:
            from forewarn.server.neighbour import who_has

            reason = f"{error_words(problem)}: {who_has(address)}"
        elif problem.errno == errno.EADDRNOTAVAIL and sys.platform == "darwin" and address.host.startswith("127."):
            reason += f": macOS has 127.0.0.1 alone until 'sudo ifconfig lo0 alias {address.host}' adds another"
        flag = f"--{setting.replace('_', '-')}"
        raise CannotListen(f"cannot listen on {address} ({reason}); choose another address with {flag}.") from None


def hosts_of(address: Address) -> tuple[str, ...]:
    """The names that a Host header may carry beside localhost."""
    return (_ANY_HOST,) if address.host in _WILDCARDS else (address.host,)


def url_of(scheme: str, address: Address, listening: socket.socket) -> str:
    """The URL of a socket that listens; in the place of port 0 stands the one that it got."""
    return f"{scheme}://{Address(address.host, listening.getsockname()[1])}"


async def serve_app(
    app: Any,
    listening: socket.socket,
    name: str,
    certificate: tuple[Path, Path] | None = None,
    protocol: type[Guarded] = Guarded,
) -> Answering:
    """Answer on a socket, with TLS where a certificate and its key are given."""
    certificate_file, key_file = certificate or (None, None)
    server = _Uvicorn(
        uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=protocol,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ssl_certfile=certificate_file,
            ssl_keyfile=key_file,
            ssl_ciphers=_CIPHERS,
        )
    )
    serving = asyncio.create_task(server.serve([listening]))
    await asyncio.wait((serving, asyncio.ensure_future(server.ready.wait())), return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
        raise CommandFailed(f"the {name} did not start; the log above says why.")

    return Answering(server, serving)


class Answering:
    """An app that answers on its socket."""

    def __init__(self, server: _Uvicorn, serving: asyncio.Task[None]) -> None:
        self._server = server
        self._serving = serving

    def connections(self) -> int:
        """How many there are now."""
        return len(self._server.server_state.connections)

    async def close(self) -> None:
        self._server.end()
        await self._serving


class _Uvicorn(uvicorn.Server):
    """Says when it answers, and leaves the signals to us: the faces must close before the journal does."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Answer what has come, then close the socket."""
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        """Renew the Date of answers once a second, until the end.

        Uvicorn's own loop wakes ten times a second to see whether it shall end. That was nine tenths of what an idle
        server did.
        """
        while not await self.on_tick(0):  # 0: the tick that renews the Date
            try:
                async with asyncio.timeout(_DATE_SECONDS):
                    await self._ending.wait()
            except TimeoutError:
                pass

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
