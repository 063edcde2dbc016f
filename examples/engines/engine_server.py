"""The serving half of an engine for forewarn (docs/engine-protocol.md): standard library only, copy it beside yours.

Write a class on top of ``Platform`` that says what is there and what would be done next; this file speaks HTTP over a
Unix socket, https with a token, and lines on stdin/stdout, and keeps the one rule that matters: a change is made only
when forewarn has given leave for that very change.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import socketserver
import ssl
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, BinaryIO
from urllib.parse import parse_qs, unquote, urlsplit

Answer = tuple[int, dict[str, Any] | None]
BODY_MOST = 1024 * 1024  # bytes of one request


class Refused(Exception):  # noqa: N818 - it is no error of this program
    """It cannot be done, in a sentence for a person. ``lasting``: asking again cannot help."""

    def __init__(self, why: str, *, lasting: bool = True) -> None:
        super().__init__(why)
        self.lasting = lasting


class Unsure(Exception):  # noqa: N818 - it is no error of this program
    """The platform did not answer: nothing is known. forewarn lists, and asks again."""


@dataclass
class Seen:
    """A machine as it is now: what is wanted is there."""

    machine: dict[str, Any]  # ref, host, power, boot_mark, why


@dataclass
class Change:
    """The next change. ``words`` say what it does and to what, so that they fit no other moment: "stop 104 #3"."""

    words: str
    make: Callable[[], object]


@dataclass
class Waiting:
    """It is under way: a task, a pause, a migration."""

    why: str
    again_after: float = 1.0


Step = Seen | Change | Waiting


class Platform:
    """What you write: the attributes, ``next_step`` and ``machines``; the rest only where your platform has it."""

    name = "example"
    version = ""
    kinds: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    offers: tuple[str, ...] = ("wait",)

    def __init__(self) -> None:
        self._errands: dict[str, tuple[dict[str, Any], float]] = {}
        self._lock = threading.RLock()

    def next_step(self, errand: str, wanted: dict[str, Any]) -> Step:
        """Look, and say what follows. Never change anything here. Raise ``Refused`` or ``Unsure``."""
        raise NotImplementedError

    def machines(self, host: str) -> tuple[bool, list[dict[str, Any]]]:
        """Whether it is all of them, and each machine at that host now."""
        raise NotImplementedError

    def give_up(self, errand: str, wanted: dict[str, Any]) -> None:
        """Best effort: abort a migration, end a pause."""

    # What is made of it

    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        with self._lock:
            self._errands[errand] = (wanted, time.monotonic())
            step = self.next_step(errand, wanted)
            if isinstance(step, Change) and wanted.get("leave") == step.words:
                step.make()
                step = self.next_step(errand, wanted)
            return answer_of(step)

    def state(self, errand: str, wait: float) -> Answer:
        ends = time.monotonic() + min(wait, 30.0)
        while errand in self._errands:
            wanted, since = self._errands[errand]
            left = wanted.get("left", 0.0) - (time.monotonic() - since)
            with self._lock:
                step = self.next_step(errand, {**wanted, "left": left, "again": True})
            if not isinstance(step, Waiting) or time.monotonic() >= ends:
                return answer_of(step)
            time.sleep(0.2)
        return 404, {"why": "This errand is not known here."}

    def abandon(self, errand: str) -> Answer:
        wanted, _ = self._errands.pop(errand, ({}, 0.0))
        if not wanted:
            return 404, {"why": "This errand is not known here."}
        with self._lock:
            self.give_up(errand, wanted)
        return 204, None

    def listing(self, host: str) -> Answer:
        complete, machines = self.machines(host)
        return 200, {"host": host, "complete": complete, "machines": machines, "cursor": _digest(machines)}

    def changes(self, host: str, after: str, wait: float) -> Answer:
        """By comparing; where your platform tells of changes, wait for that instead."""
        ends = time.monotonic() + min(wait, 60.0)
        while (now := _digest(self.machines(host)[1])) == after:
            if time.monotonic() >= ends:
                return 204, None
            time.sleep(0.5)
        return 200, {"cursor": now}

    def other(self, method: str, parts: list[str], body: dict[str, Any]) -> Answer:
        """What you offer beyond that: ``owner``, ``findings``. A query stands in ``body`` too."""
        return 404, {"why": "There is no such thing here."}


def answer_of(step: Step) -> Answer:
    match step:
        case Seen(machine):
            return 200, {"sighting": machine}
        case Change(words):
            return 202, {"asks": words}
        case Waiting(why, again_after):
            return 202, {"why": why, "again_after": again_after}


def _digest(machines: list[dict[str, Any]]) -> str:
    return "c" + hex(hash(json.dumps(machines, sort_keys=True)) & 0xFFFFFFFFFFFF)[2:]


def handle(platform: Platform, method: str, target: str, body: bytes) -> Answer:
    """One request, whichever way it came."""
    url = urlsplit(target)
    parts = [unquote(part) for part in url.path.split("/")[1:]]
    query = {name: values[-1] for name, values in parse_qs(url.query).items()}
    try:
        told = json.loads(body) if body else {}
        if not isinstance(told, dict):
            raise ValueError("a JSON object is wanted")
        return _routed(platform, method, parts, query, told)
    except Refused as refusal:
        return 422, {"why": str(refusal), "lasting": refusal.lasting}
    except Unsure as silence:
        return 503, {"why": str(silence)}
    except (ValueError, KeyError, TypeError) as fault:
        return 400, {"why": f"That request is not understood: {fault!r}"}


def _routed(platform: Platform, method: str, parts: list[str], query: dict[str, str], body: dict[str, Any]) -> Answer:
    wait = float(query.get("wait", 0))
    match [method, *parts]:
        case ["GET", "v1", "engine"]:
            card = {name: getattr(platform, name) for name in ("name", "version", "kinds", "hosts", "offers")}
            return 200, {"protocol": 1, **card}
        case ["PUT", "v1", "errands", errand] if errand:
            if body.get("kind") not in platform.kinds:
                raise Refused(f"{platform.name} cannot {body.get('kind')} machines.")
            return platform.put(errand, body)
        case ["GET", "v1", "errands", errand]:
            return platform.state(errand, wait)
        case ["DELETE", "v1", "errands", errand]:
            return platform.abandon(errand)
        case [_, "v1", "hosts", host, *_] if host not in platform.hosts:
            return 404, {"why": f"There is no host {host} here."}
        case ["GET", "v1", "hosts", host, "machines"]:
            return platform.listing(host)
        case ["GET", "v1", "hosts", host, "changes"]:
            return platform.changes(host, query.get("after", ""), wait)
    return platform.other(method, parts, {**query, **body})


def serve_lines(platform: Platform, requests: BinaryIO, answers: BinaryIO) -> None:
    """Until stdin is closed, which is how forewarn ends a program. Several questions may be held at a time."""
    lock = threading.Lock()

    def work(line: bytes) -> None:
        asked = json.loads(line)
        body = json.dumps(asked["body"]).encode() if asked.get("body") is not None else b""
        status, told = handle(platform, asked["method"], asked["path"], body)
        with lock, suppress(OSError, ValueError):  # whoever asked may be gone
            answers.write(json.dumps({"id": asked["id"], "status": status, "body": told}).encode() + b"\n")
            answers.flush()

    for line in iter(requests.readline, b""):
        threading.Thread(target=work, args=(line,), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 60
    server: _Server

    def _serve(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if 0 <= size <= BODY_MOST else b"{"
        self.close_connection = True
        given = self.headers.get("Authorization", "")
        if self.server.token and not hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            self._tell(401, {"why": "The token is missing or wrong."})
        else:
            self._tell(*handle(self.server.platform, self.command, self.path, body))

    do_GET = do_PUT = do_DELETE = _serve  # noqa: N815 - the names are http.server's

    def _tell(self, status: int, body: dict[str, Any] | None) -> None:
        told = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Say nothing of each request."""


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = allow_reuse_address = True
    request_queue_size = 64
    token = ""
    platform: Platform

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none of our business."""


class _UnixServer(_Server):
    address_family = socketserver.UnixStreamServer.address_family


def http_server(platform: Platform, unix: str = "", https: tuple[str, int] = ("", 0), **tls: str) -> _Server:
    """A server that is bound; call its ``serve_forever``. ``tls``: cert, key, token."""
    server: _Server
    if unix:
        before = os.umask(0o177)  # the socket is its owner's
        server = _UnixServer(unix, _Handler)  # type: ignore[arg-type]  # typeshed wants a pair, a Unix socket has a path
        os.umask(before)
    else:
        server = _Server(https, _Handler)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tls["cert"], tls["key"])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.platform, server.token = platform, tls.get("token", "")
    return server


def main(platform: Platform, parser: argparse.ArgumentParser | None = None) -> None:
    """Serve as the arguments say: lines on stdin and stdout where nothing is said."""
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("--unix", default="", metavar="PATH", help="serve HTTP on this Unix socket")
    parser.add_argument("--https", default="", metavar="HOST:PORT", help="serve https; wants --cert, --key and a token")
    parser.add_argument("--cert", metavar="FILE")
    parser.add_argument("--key", metavar="FILE")
    parser.add_argument("--token-file", metavar="FILE")
    args = parser.parse_args()
    if args.https:
        if not (args.cert and args.key and args.token_file):
            parser.error("--https wants --cert, --key and --token-file")
        host, _, port = args.https.rpartition(":")
        with open(args.token_file, encoding="utf-8") as file:  # noqa: PTH123 - plain for readers
            token = file.read().strip()
        http_server(platform, https=(host, int(port)), cert=args.cert, key=args.key, token=token).serve_forever()
    elif args.unix:
        http_server(platform, args.unix).serve_forever()
    else:
        serve_lines(platform, sys.stdin.buffer, sys.stdout.buffer)
