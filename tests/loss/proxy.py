"""Wires that can be cut: TCP proxies between a node and the database, or a relay and a node, in a process of their own.

``python proxy.py NAME=PORT…`` says where each wire begins, then obeys one line at a time until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

_CHUNK_BYTES = 65_536
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: what is closed is reset, as by a firewall that says no


class Wires:
    """The handle of that process."""

    def __init__(self, targets: Mapping[str, int]) -> None:
        self._targets = dict(targets)
        self._process = subprocess.Popen(
            [sys.executable, __file__, *(f"{name}={port}" for name, port in targets.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = threading.Lock()
        assert self._process.stdout is not None
        self.ports: dict[str, int] = json.loads(self._process.stdout.readline())

    def cut(self, name: str) -> None:
        """Reset every connection; new ones are reset too."""
        self._tell("cut", name)

    def snap(self, name: str) -> None:
        """Reset every connection, once."""
        self._tell("snap", name)

    def swallow(self, name: str) -> None:
        """A black hole: connections stay up, new ones are taken, and nothing comes through."""
        self._tell("swallow", name)

    def delay(self, name: str, seconds: float) -> None:
        """Everything takes so much longer, each way."""
        self._tell("delay", name, str(seconds))

    def ambush(self, name: str, share: float) -> None:
        """This share of what is said, either way, gets lost, each time with its connection."""
        self._tell("ambush", name, str(share))

    def lead(self, name: str, port: int) -> None:
        """Whoever connects from now on comes to somebody else."""
        self._tell("lead", name, str(port))

    def heal(self, name: str) -> None:
        """Everything passes again, also what was held back, and to where it should."""
        self._tell("lead", name, str(self._targets[name]))
        self._tell("heal", name)

    def _tell(self, *words: str) -> None:
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(" ".join(words) + "\n")
            self._process.stdin.flush()
            assert self._process.stdout.readline() == "done\n", f"the wires are gone: {words}"

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


class _Wire:
    """Passes bytes on until it is told otherwise. What it is told holds for connections there are and for new ones."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._sockets: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._is_cut = False
        self._delay_seconds = 0.0
        self._lost_share = 0.0

    async def listen(self) -> int:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def obey(self, word: str, *values: str) -> None:
        match word:
            case "cut":
                self._is_cut = True
                self._reset_all()
            case "snap":
                self._reset_all()
            case "swallow":
                self._open.clear()
            case "delay":
                self._delay_seconds = float(values[0])
            case "ambush":
                self._lost_share = float(values[0])
            case "lead":
                self._target_port = int(values[0])
            case "heal":
                self._is_cut, self._delay_seconds, self._lost_share = False, 0.0, 0.0
                self._open.set()
            case _:
                raise ValueError(f"no wire can {word}")

    def _reset_all(self) -> None:
        for writer in tuple(self._sockets):
            _reset(writer)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._sockets.add(writer)
        try:
            if self._is_cut:
                raise ConnectionResetError
            await self._open.wait()
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            self._sockets.discard(writer)
            _reset(writer)
            return
        self._sockets.add(there_writer)
        await asyncio.gather(self._pump(reader, there_writer, writer), self._pump(there_reader, writer, there_writer))
        for each in (writer, there_writer):
            self._sockets.discard(each)
            each.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, back: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(_CHUNK_BYTES):
                await self._open.wait()
                if self._delay_seconds:
                    await asyncio.sleep(self._delay_seconds)
                if random.random() < self._lost_share:
                    _reset(sink)
                    _reset(back)
                    return
                sink.write(data)
                await sink.drain()
            await self._open.wait()
        sink.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


async def _run(targets: Sequence[str]) -> None:
    wires = {name: _Wire(int(port)) for name, port in (target.split("=") for target in targets)}
    print(json.dumps({name: await wire.listen() for name, wire in wires.items()}), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        word, name, *values = line.split()
        wires[name].obey(word, *values)
        print("done", flush=True)
    os._exit(0)  # connections need no farewell: whoever had one is gone, or finds out


if __name__ == "__main__":
    try:
        asyncio.run(_run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
