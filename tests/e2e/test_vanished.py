"""A guest whose held answer will never come, because the host that held it is gone without a word.

So it is after a live migration, when the next host has the service's address, and after a cut of power. No packet tells
the guest of it: it is its own keep-alive that does, long before its patience of 40 s is over.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import clean_environment
from tests.e2e.test_netns import Realm
from tests.waiting import until

_SERVICE, _GUEST, _MAC = "10.9.9.254", "10.9.9.10", "02:00:00:00:99:fe"
_DEAF_SECONDS = 40  # a held answer may take 30, and any answer 10 more
# Answers the first question at once, and holds every other one until it is killed
_HOST = """
import socket, sys, threading
listening = socket.create_server((sys.argv[1], 80))
print("here", flush=True)
def serve(each):
    number = 0
    while each.recv(65536):
        number += 1
        print("asked", flush=True)
        if number == 1:
            body = b'{"DocumentIncarnation": 1, "Events": []}'
            lines = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nETag: \\"1\\"\\r\\n"
            each.sendall(lines + b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
"""
_BLOCKING = """
from forewarn.guest.client import Client
with Client("http://{service}") as client:
    for reading in client.readings(): print("read", flush=True)
"""
_ASYNC = """
import asyncio
from forewarn.guest.aio import AsyncClient
async def main():
    async with AsyncClient("http://{service}") as client:
        async for reading in client.readings(): print("read", flush=True)
asyncio.run(main())
"""


@pytest.fixture
def realm() -> Iterator[Realm]:
    """Two hosts of which either may have the service's address, under one MAC, and a guest, on one bridge."""
    with Realm.made() as made:
        made.run("ip", "link", "add", "lan", "type", "bridge")
        made.run("ip", "link", "set", "lan", "up")
        for name in ("one", "two", "guest"):
            made.run("ip", "netns", "add", name)
            made.run("ip", "link", "add", f"to{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            made.run("ip", "link", "set", f"to{name}", "master", "lan", "up")
        made.run("ip", "address", "add", f"{_GUEST}/24", "dev", "eth0", netns="guest")
        made.run("ip", "link", "set", "eth0", "up", netns="guest")
        _take_over(made, "one")
        yield made


def _take_over(realm: Realm, host: str) -> None:
    realm.run("ip", "link", "set", "eth0", "address", _MAC, "up", netns=host)
    realm.run("ip", "address", "add", f"{_SERVICE}/24", "dev", "eth0", netns=host)


def _start(realm: Realm, host: str, out: Path, *command: str) -> subprocess.Popen[bytes]:
    with out.open("w") as file:
        line = [*realm.wrapper, "ip", "netns", "exec", host, sys.executable, *command]
        environment = clean_environment(PATH="/usr/sbin:/usr/bin:/sbin:/bin", PYTHONUNBUFFERED="1")
        return subprocess.Popen(line, stdout=file, stderr=subprocess.STDOUT, env=environment)


@pytest.mark.parametrize(
    ("program", "moved", "confirmed"),
    [(_BLOCKING, True, True), (_ASYNC, True, True), (_BLOCKING, False, False)],
    ids=["address moved, blocking", "address moved, asyncio", "power cut before the question was confirmed"],
)
def test_a_guest_that_waits_is_not_deaf_when_its_host_is_gone_without_a_word(
    realm: Realm, tmp_path: Path, program: str, moved: bool, confirmed: bool
) -> None:
    first, second, told = (tmp_path / name for name in ("first", "second", "told"))
    started = [_start(realm, "one", first, "-c", _HOST, _SERVICE)]
    try:
        until(lambda: "here" in first.read_text(), "a host", first.read_text)
        started.append(_start(realm, "guest", told, "-c", program.format(service=_SERVICE)))
        until(lambda: first.read_text().count("asked") == 2, "a held question", told.read_text)
        if confirmed:
            unsent = ("sh", "-c", "ss -Hti | grep -q unacked && echo some || true")
            until(lambda: not realm.run(*unsent, netns="guest"), "the question to be confirmed")
        began = time.monotonic()
        realm.run("ip", "link", "set", "toone", "down")
        _take_over(realm, "two")
        if moved:
            started.append(_start(realm, "two", second, "-c", _HOST, _SERVICE))
            until(lambda: "here" in second.read_text(), "the other host", second.read_text)
            until(lambda: "asked" in second.read_text(), "the guest at the other host", told.read_text)
            until(lambda: told.read_text().count("read") > 1, "its answer", told.read_text)
        else:
            realm.run("ip", "link", "set", "totwo", "down")
            connected = ("ss", "-Htn", "state", "established")
            until(lambda: not realm.run(*connected, netns="guest"), "the guest to hang up", told.read_text)
        assert time.monotonic() - began < _DEAF_SECONDS
    finally:
        for each in started:
            each.kill()
            each.wait()
