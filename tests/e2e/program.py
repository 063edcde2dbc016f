"""The installed program as its users meet it: processes, sockets, exit statuses. Every test gets its own region."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
FOREWARN = Path(sys.executable).with_name("forewarn")
PATIENCE_SECONDS = 60.0
EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"

_URL = re.compile(r"(metadata|control|resource manager|health) (https?://[^\s,;]+:\d+)")


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without what would tell forewarn or Python something of its own."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("FOREWARN_", "PYTHON"))} | more


def run(
    *arguments: str | Path, status: int = 0, env: Mapping[str, str] | None = None, program: Path = FOREWARN
) -> subprocess.CompletedProcess[str]:
    """One command to its end, which must be the one that is expected."""
    done = subprocess.run(
        [program, *arguments],
        env=dict(env or clean_environment()),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    told = f"{done.stdout}{done.stderr}"
    assert done.returncode == status, f"forewarn {arguments} ended with {done.returncode}, not {status}:\n{told}"
    assert "Traceback" not in told, told
    return done


@dataclass(frozen=True)
class Answer:
    """A response of the metadata face."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The body as a document; only a 200 has one."""
        assert self.status == 200, f"{self.status}: {self.body!r}"
        found: dict[str, Any] = json.loads(self.body)
        return found


def ask(
    url: str, target: str, headers: Mapping[str, str] | None = None, verb: str = "GET", body: bytes | None = None
) -> Answer:
    """One request on a connection of its own."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(verb, target, body, dict({"Metadata": "true"} if headers is None else headers))
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, fields, response.read())
    finally:
        connection.close()


@dataclass
class ServerProgram:
    """A running ``forewarn serve``. Its log is a file, so that a failing test can show it."""

    process: subprocess.Popen[str]
    data: Path
    log: Path
    program: Path
    ready: str = ""
    metadata: str = ""
    control: str = ""
    resource_manager: str = ""
    health: str = ""
    token: str = ""

    @classmethod
    @contextmanager
    def start(
        cls,
        data: Path,
        *options: str | Path,
        program: Path = FOREWARN,
        env: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
        cwd: Path | None = None,
    ) -> Iterator[ServerProgram]:
        """Serve until the block ends. ``wrapper`` is a command that runs ours, such as one that enters a namespace.

        In a ``cwd`` it keeps its region where its options or its defaults say.
        """
        server = cls.launch(data, *options, program=program, env=env, wrapper=wrapper, cwd=cwd)
        try:
            server.await_ready()
            yield server
        finally:
            server.kill()
            server.close()

    @classmethod
    def launch(
        cls,
        data: Path,
        *options: str | Path,
        program: Path = FOREWARN,
        env: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
        cwd: Path | None = None,
        log: Path | None = None,
    ) -> ServerProgram:
        """Start the process and do not wait. The faces take free ports unless the options say otherwise.

        The log stands beside the data unless told otherwise.
        """
        given = [*(() if cwd else ("--data", str(data))), *(str(option) for option in options)]
        for face in ("--metadata", "--control", "--resource-manager"):
            if face not in given:
                given += [face, "127.0.0.1:0"]
        log = log or data.with_name(f"{data.name}.log")
        with log.open("a") as file:
            process = subprocess.Popen(
                [*wrapper, program, "serve", *given],
                env=dict(env or clean_environment()),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        return cls(process, data, log, program, token=(env or {}).get("FOREWARN_TOKEN", ""))

    def await_ready(self) -> None:
        """The server says in one line where it is."""
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline()
        assert " ready: " in self.ready, f"not ready: {self.ready!r}\n{self.log.read_text()}"
        for face, url in _URL.findall(self.ready):
            setattr(self, face.replace(" ", "_"), url)

    def forewarn(self, *arguments: str, status: int = 0) -> str:
        """A client command against this server; what it printed."""
        return run(*arguments, status=status, env=self.environment(), program=self.program).stdout

    def json(self, *arguments: str) -> Any:
        """The same, for programs."""
        return json.loads(self.forewarn(*arguments, "--json"))

    def environment(self) -> dict[str, str]:
        token = {"FOREWARN_TOKEN": self.token} if self.token else {}
        return clean_environment(FOREWARN_URL=self.control, **token)

    def document(self, vm: str) -> dict[str, Any]:
        """What a VM sees, at a desk."""
        return ask(self.metadata, f"/vm/{vm}{EVENTS}").document

    def approve(self, vm: str, event_id: str) -> Answer:
        """What a VM posts."""
        body = json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()
        return ask(self.metadata, f"/vm/{vm}{EVENTS}", verb="POST", body=body)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit status."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """As a power cut would."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Give back what this side holds."""
        if self.process.stdout is not None:
            self.process.stdout.close()


def without_limits(errors: str) -> str:
    """What was said, but for how many files this machine allows: that is not the doing of the server."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if "files open, so VMs get" not in line)
