"""Browsers without a browser: they hold a stream of hints and ask for parts of the overview, as its page does."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench import processes

_SECONDS_BETWEEN = 0.5  # a page asks for its parts twice a second at most, counted from request to request


class Watcher:
    """Holds a stream of hints open and asks for a part after each, as a page does."""

    def __init__(self, port: int) -> None:
        self.hints: list[tuple[float, int, int]] = []  # when, up to which record, and of how many bytes
        self.seen: list[tuple[float, float]] = []  # when a part was asked for, and when it was there
        self._port = port
        self._stream = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        self._over = False
        self._news = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._look)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        self._stream.request("GET", "/v1/changes/stream")
        answer = self._stream.getresponse()
        while not self._over and (line := answer.readline()):
            if line.startswith(b"data:"):
                self.hints.append((time.perf_counter(), json.loads(line[5:])["seq"], len(line)))
                self._news.set()

    def _look(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        tag = ""
        while not self._over:
            if not self._news.wait(0.1):
                continue
            self._news.clear()
            begun = time.perf_counter()
            headers = {"X-Forewarn-Part": "part-counts part-nav", "If-None-Match": tag, "Accept-Encoding": "gzip"}
            connection.request("GET", "/portal/", headers=headers)
            answer = connection.getresponse()
            answer.read()
            tag = answer.headers["ETag"] or tag
            self.seen.append((begun, time.perf_counter()))
            time.sleep(max(0.0, begun + _SECONDS_BETWEEN - time.perf_counter()))
        connection.close()

    def close(self) -> None:
        self._over = True
        if self._stream.sock is not None:
            self._stream.sock.shutdown(2)
        for thread in self._threads:
            thread.join(5)


@contextmanager
def watched(port: int, number: int) -> Iterator[list[Watcher]]:
    """In threads of this process, where what each has seen can be looked at."""
    with ExitStack() as stack:
        watchers = [Watcher(port) for _ in range(number)]
        for watcher in watchers:
            stack.callback(watcher.close)
        yield watchers


@contextmanager
def browsers(port: int, number: int) -> Iterator[None]:
    """In a process of their own: forty threads here would slow down what is measured beside them."""
    if not number:
        yield
        return
    process = processes.start([sys.executable, "-m", "bench.browsers", str(port), str(number)])
    try:
        time.sleep(1.0)  # until all streams are open
        yield
    finally:
        processes.end(process)


if __name__ == "__main__":
    with watched(int(sys.argv[1]), int(sys.argv[2])):
        threading.Event().wait()
