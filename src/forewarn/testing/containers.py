"""A region in a container, for tests that use Testcontainers. Needs the extra testcontainers, and the image.

The image runs in desk mode with a clock that the test turns; its ports are published on 127.0.0.1 alone, because
whoever reaches the metadata port can be any VM. The container goes with the ``with`` block.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from http.client import HTTPConnection
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from forewarn.guest.endpoint import ADDRESS_VARIABLE
from forewarn.settings.times import parse_duration

try:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy
except ModuleNotFoundError as _problem:
    raise ImportError(
        f"forewarn.testing.containers needs {_problem.name}, a package of the testcontainers extra; "
        "install it in a clone of forewarn: pip install '.[testcontainers]'"
    ) from None

IMAGE = "localhost/forewarn"
_HOST = "127.0.0.1"
_METADATA, _CONTROL = 16925, 16926  # the ports that release/Containerfile sets
_ANSWER_SECONDS = 60.0  # ours: far beyond what a small region takes to turn its clock


class RegionRefused(Exception):  # noqa: N818 - it says what is the matter
    """The region did not do what was asked; the message is its own sentence."""


class ForewarnContainer:
    """``with ForewarnContainer() as region:``; the image is what ``make image`` builds, or where you have pushed it.

    Anything that Testcontainers can do with a container, such as a volume or a network, is done on ``container``
    before it starts.
    """

    def __init__(self, image: str = IMAGE, *, vms: Sequence[str] = ("web-0",), clock: str = "virtual") -> None:
        self._vms = tuple(vms)
        self._token = ""
        words = ["serve", "--clock", clock, "--ready", "json"]
        self.container = DockerContainer(image, command=words)
        for port in (_METADATA, _CONTROL):
            self.container.ports[str(port)] = (_HOST, None)  # any free port, of this machine only
        self.container.waiting_for(LogMessageWaitStrategy(r'"ready": ?true'))

    def start(self) -> Self:
        """Until the region answers and has its VMs, which read from then on."""
        try:
            self.container.start()
            self._token = self._told()["token"]
            for name in self._vms:
                self.ask("POST", "/v1/vms", {"name": name, "read": True})
        except BaseException as problem:
            if self.container.status != "not_started":
                problem.add_note(b"".join(self.container.get_logs()).decode())  # why it did not start
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Remove the container, with all that the region in it knew."""
        self.container.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The operator API, as ``FOREWARN_URL`` takes it; ``token`` opens it."""
        return self._at(_CONTROL)

    @property
    def token(self) -> str:
        """What the region made at its start."""
        return self._token

    def vm_url(self, name: str) -> str:
        """What stands before ``/metadata/scheduledevents`` for that VM."""
        return f"{self._at(_METADATA)}/vm/{name}"

    def environment(self, vm: str) -> dict[str, str]:
        """The environment for a program that is that VM and may turn the region's clock."""
        return {ADDRESS_VARIABLE: self.vm_url(vm), "FOREWARN_URL": self.url, "FOREWARN_TOKEN": self._token}

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One call of the operator API (docs/api.md). What it refuses is raised with its sentence."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or _HOST, parts.port, timeout=_ANSWER_SECONDS)
        try:
            content = None if body is None else json.dumps(body)
            fields = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            connection.request(method, path, content, fields)
            answer = connection.getresponse()
            told = json.loads(answer.read() or b"null")
        finally:
            connection.close()
        if answer.status >= 400:
            raise RegionRefused(told["error"]["message"])
        return told

    def restart(self, vm: str) -> str:
        """A Reboot, fifteen minutes ahead; the id of the event."""
        made = self.ask("POST", "/v1/vms/restart", {"names": [vm]})
        event_id: str = made["events"][0]["id"]
        return event_id

    def event(self, event_id: str) -> Any:
        """Its story: ``phase``, ``approved_by``, ``in_time`` and more, as ``forewarn event show`` has it."""
        return self.ask("GET", f"/v1/events/{event_id}")

    def advance(self, by: timedelta | str) -> None:
        """Turn the clock: ``"15m"`` or a ``timedelta``."""
        length = parse_duration(by) if isinstance(by, str) else by
        self.ask("POST", "/v1/clock/advance", {"seconds": length.total_seconds()})

    def _at(self, port: int) -> str:
        return f"http://{_HOST}:{self.container.get_exposed_port(port)}"

    def _told(self) -> Any:
        """The line that the region prints when everything answers."""
        lines = b"".join(self.container.get_logs()).splitlines()
        return next(json.loads(line) for line in lines if line.startswith(b'{"ready":'))
