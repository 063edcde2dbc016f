"""A region whose clock stands still, with ``az`` outside and its VMs inside: nothing happens but what a test does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.e2e.az import Az
from tests.e2e.program import EVENTS, PATIENCE_SECONDS, ServerProgram, ask

T = TypeVar("T")
SIDE_BY_SIDE = 2  # each az keeps a core busy

IMAGE = ("--image", "Ubuntu2204")
PASSWORD = ("--admin-username", "me", "--authentication-type", "password", "--admin-password", "Long-enough-1234")
UNIFORM = ("--orchestration-mode", "Uniform", "--upgrade-policy-mode", "manual")


@dataclass(frozen=True)
class Running:
    """An ``az`` that has not come back yet, if all is well."""

    process: subprocess.Popen[str]
    arguments: Sequence[str]

    @property
    def waits(self) -> bool:
        return self.process.poll() is None

    def end(self, status: int = 0) -> str:
        """What it prints once it comes back."""
        out, err = self.process.communicate(timeout=PATIENCE_SECONDS)
        told = f"az {' '.join(self.arguments)} ended with {self.process.returncode}, not {status}:\n{out}{err}"
        assert self.process.returncode == status, told
        return out


@dataclass(frozen=True)
class AzRegion:
    """Both sides of a region."""

    server: ServerProgram
    az: Az

    @classmethod
    @contextmanager
    def start(cls, directory: Path, *options: str) -> Iterator[AzRegion]:
        with ServerProgram.start(directory / "data", "--clock", "virtual", *options) as server:
            yield cls(server, Az.ready(server, directory))

    # Outside

    def run(self, command: str, *more: str) -> Any:
        """A command that has nothing to wait for; what it answers."""
        return self.az.json(*command.split(), *more)

    def refused(self, command: str, *more: str, status: int = 1) -> str:
        return self.az.error(*command.split(), *more, status=status)

    @contextmanager
    def running(self, command: str, *more: str) -> Iterator[Running]:
        """A command that has something to wait for. It has come back, and well, when the block has ended."""
        arguments = (*command.split(), *more, "--output", "json")
        process = subprocess.Popen(
            [self.az.program, *arguments],
            env=dict(self.az.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                started = Running(process, arguments)
                yield started
                if process.returncode is None:
                    started.end()
            finally:
                process.kill()

    def make_set(self, group: str, name: str, count: int, *more: str) -> None:
        """A uniform scale set whose instances take over a new model when they are told to."""
        self.run(f"vmss create -g {group} -n {name} --instance-count {count}", *IMAGE, *PASSWORD, *UNIFORM, *more)

    # Inside

    def events(self, vm: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.server.document(vm)["Events"]
        return found

    def told(self, vm: str, number: int = 1, status: str = "Scheduled") -> list[dict[str, Any]]:
        """What a VM sees as soon as so many events have come so far; it waits for news as long as they have not."""
        document = self.server.document(vm)
        while True:
            found = [event for event in document["Events"] if event["EventStatus"] == status]
            if len(found) == number:
                return found
            document = self._news(vm, document["DocumentIncarnation"])

    def _news(self, vm: str, incarnation: int) -> dict[str, Any]:
        wait = {"Metadata": "true", "If-None-Match": str(incarnation), "Prefer": "wait=30"}
        answer = ask(self.server.metadata, f"/vm/{vm}{EVENTS}", wait)
        assert answer.status == 200, f"{vm} has not been told anything: {answer.status}"
        return answer.document

    def approve(self, vm: str, *events: dict[str, Any]) -> None:
        for event in events:
            assert self.server.approve(vm, event["EventId"]).status == 200

    # The operator's

    def pass_minutes(self, minutes: int) -> None:
        """Whatever falls due happens."""
        self._post("/v1/clock/advance", {"seconds": 60 * minutes})

    @contextmanager
    def time_passing(self) -> Iterator[None]:
        """For what takes its time and is announced to nobody."""
        self._post("/v1/clock/speed", {"speed": 60})
        yield
        self._post("/v1/clock/speed", {"speed": 0})

    def power(self, vm: str) -> str:
        return str(self._get(f"/v1/vms/{vm}")["power"])

    def names(self) -> list[str]:
        return [vm["name"] for vm in self._get("/v1/vms")["vms"]]

    def head(self) -> int:
        """How much has ever happened."""
        return int(self._get("/v1/journal?limit=1")["head"])

    def _get(self, target: str) -> dict[str, Any]:
        return ask(self.server.control, target, {}).document

    def _post(self, target: str, body: dict[str, Any]) -> None:
        fields = {"Content-Type": "application/json"}
        answer = ask(self.server.control, target, fields, "POST", json.dumps(body).encode())
        assert answer.status == 200, answer.body


def side_by_side(*tasks: Callable[[], T]) -> list[T]:
    """Commands that have nothing to do with each other, so that no core is idle."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]


def summary(events: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The kinds of events, and whom they hit."""
    return [(event["EventType"], event["Resources"]) for event in events]
