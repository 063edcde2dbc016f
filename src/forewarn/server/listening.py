"""Sockets and the servers on them: what cannot listen says so in a sentence, what listens ends in good order."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from forewarn.server.guarded import Guarded
from forewarn.settings.errors import CannotListen, CommandFailed
from forewarn.settings.kinds import Address

_BACKLOG = 1024  # connections the kernel holds until they are accepted; nginx 511, uvicorn 2048
GRACE_SECONDS = 15  # ours: for requests that have come; a write may wait for its store for most of that
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on
_ANY_HOST = "*"
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"  # of TLS 1.2: fresh keys, and encryption that proves itself; 1.3 has no other


def listen(address: Address, setting: str) -> socket.socket:
    """A socket bound by us rather than by uvicorn, so that a port in use is one sentence."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with explained(address, setting):
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)


def take_all_files() -> None:
    """Raise the limit of open files to the most that the system allows.

    Each connection is one, and the usual soft limit is 1024.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files_most() -> int:
    """How many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


@contextmanager
def explained(address: Address, setting: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        if problem.errno == errno.EADDRINUSE:
            from forewarn.server.neighbour import who_has

            reason = f"{os.strerror(problem.errno)}: {who_has(address)}"
        flag = f"--{setting.replace('_', '-')}"
        raise CannotListen(f"cannot listen on {address} ({reason}); choose another address with {flag}.") from None


def hosts_of(address: Address) -> tuple[str, ...]:
    """The names that a Host header may carry beside localhost."""
    return (_ANY_HOST,) if address.host in _WILDCARDS else (address.host,)


def url_of(scheme: str, address: Address, listening: socket.socket) -> str:
    """Where it is to be found: port 0 has become a real one."""
    return f"{scheme}://{Address(address.host, listening.getsockname()[1])}"


async def serve_app(
    app: Any,
    listening: socket.socket,
    name: str,
    certificate: tuple[Path, Path] | None = None,
    protocol: type[Guarded] = Guarded,
) -> Callable[[], Awaitable[None]]:
    """Answer on a socket, with TLS where a certificate and its key are given. Returns how to end that."""
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

    async def close() -> None:
        server.should_exit = True
        await serving

    return close


class _Uvicorn(uvicorn.Server):
    """Says when it answers, and leaves the signals to us: the faces must close before the journal does."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
