"""One client's connections to the nodes. A request is sent once; what became of it is never guessed."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.loss.history import Outcome


@dataclass(frozen=True)
class Reply:
    """What came back, and when the question went out. Status 0: nothing came."""

    asked: float
    answered: float
    status: int
    headers: Mapping[str, str]
    body: bytes
    sent: bool = True  # whether the server can have seen anything of it

    @property
    def outcome(self) -> Outcome:
        """A 502 is the product's own word for not knowing; a 503 says that nothing happened."""
        if 200 <= self.status < 300:
            return Outcome.OK
        if (self.status == 0 and self.sent) or self.status in (500, 502):
            return Outcome.UNKNOWN
        return Outcome.REFUSED

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


@dataclass
class Lines:
    """Kept-alive connections, one for each port, opened anew after trouble."""

    timeout_seconds: float
    _open: dict[int, http.client.HTTPConnection] = field(default_factory=dict)

    def ask(
        self, port: int, verb: str, target: str, headers: Mapping[str, str], body: object = None, wait: float = 0
    ) -> Reply:
        asked = time.monotonic()
        sent = False
        try:
            line = self._line(port, self.timeout_seconds + wait)
            sent = True
            line.request(verb, target, None if body is None else json.dumps(body), dict(headers))
            response = line.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._drop(port)
            return Reply(asked, time.monotonic(), 0, {}, b"", sent)
        fields = {name.lower(): value for name, value in response.getheaders()}
        if response.will_close:
            self._drop(port)
        return Reply(asked, time.monotonic(), response.status, fields, content)

    def _line(self, port: int, timeout: float) -> http.client.HTTPConnection:
        found = self._open.get(port)
        if found is None:
            found = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
            found.connect()
            self._open[port] = found
        assert found.sock is not None
        found.sock.settimeout(timeout)
        return found

    def _drop(self, port: int) -> None:
        line = self._open.pop(port, None)
        if line is not None:
            with suppress(OSError):
                line.close()

    def close(self) -> None:
        for port in tuple(self._open):
            self._drop(port)
