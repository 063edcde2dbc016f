"""The hosts of an engine: one connection to each daemon, made again when it is gone."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from forewarn.engines.libvirt.binding import is_libvirts, libvirt, words_of
from forewarn.plane.hands.engine import EngineFault

# A daemon that does not answer five probes in as many seconds is gone: libvirt's own default is 5 s and 5 probes
KEEP_ALIVE_SECONDS, KEEP_ALIVE_COUNT = 1, 5
HINT_SECONDS = 10.0  # a listing is due after that long without a hint in any case


class LibvirtHost(Struct, frozen=True):
    """One daemon, as the server's own files name it."""

    name: str
    uri: str  # as this server reaches it
    peer_uri: str = ""  # as the other hosts' daemons reach it, for migrations; empty: the same
    migrate_uri: str = ""  # where the memory is sent to (tcp://address); empty: as libvirt finds it


class Hosts:
    """Connections by host. May be used from any thread; libvirt's own calls are safe between threads."""

    def __init__(self, hosts: Mapping[str, LibvirtHost]) -> None:
        self._hosts = dict(hosts)
        self._connections: dict[str, Any] = {}
        # One for each host: opening a connection to a host that is gone takes minutes, and must keep no other waiting
        self._locks = {name: threading.Lock() for name in self._hosts}
        self._closed = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._hosts)

    def named(self, name: str) -> LibvirtHost:
        try:
            return self._hosts[name]
        except KeyError:
            known = ", ".join(sorted(self._hosts)) or "none"
            raise EngineFault(f"This engine has no host {name}; it has: {known}.") from None

    def connect(self, name: str) -> Any:
        """The connection to that host, alive as far as is known."""
        host = self.named(name)
        with self._locks[name]:
            kept = self._connections.get(name)
            if kept is not None and _stands(kept):
                return kept
            if self._closed:
                raise EngineFault("The engine is closed.")
            made = _opened(host)
            self._connections[name] = made
            return made

    def is_alive(self, name: str) -> bool:
        """Whether the connection that was last used still stands. If not, the outcome of a call is unknown."""
        kept = self._connections.get(name)
        return kept is not None and _stands(kept)

    def hints(self, name: str, cursor: str) -> Iterator[str]:
        """A number that grows with each life-cycle event of any domain there. Ends when the connection does.

        It is listened from this call on, not from the first ``next``: what happens in between is not missed.
        """
        connection = self.connect(name)
        seen: queue.SimpleQueue[None] = queue.SimpleQueue()
        any_domain, lifecycle = None, libvirt().VIR_DOMAIN_EVENT_ID_LIFECYCLE
        registered = connection.domainEventRegisterAny(any_domain, lifecycle, lambda *_: seen.put(None), None)
        return self._counted(connection, registered, seen, int(cursor) if cursor.isdecimal() else 0)

    def _counted(self, connection: Any, registered: int, seen: queue.SimpleQueue[None], count: int) -> Iterator[str]:
        try:
            while not self._closed and _stands(connection):
                try:
                    seen.get(timeout=HINT_SECONDS)
                except queue.Empty:
                    continue
                count += 1
                yield str(count)
        finally:
            with suppress(libvirt().libvirtError):  # a connection that is closed or broken has forgotten it already
                connection.domainEventDeregisterAny(registered)

    def close(self) -> None:
        self._closed = True
        for connection in list(self._connections.values()):
            connection.close()


def _opened(host: LibvirtHost) -> Any:
    try:
        connection = libvirt().open(host.uri)
        connection.setKeepAlive(KEEP_ALIVE_SECONDS, KEEP_ALIVE_COUNT)
    except Exception as fault:
        if is_libvirts(fault):
            raise EngineFault(f"Host {host.name} cannot be reached. {words_of(fault)}") from fault
        raise
    return connection


def _stands(connection: Any) -> bool:
    """Whether a connection that another thread may have closed is still of use."""
    try:
        return bool(connection.isAlive())
    except Exception as fault:
        if is_libvirts(fault):
            return False
        raise
