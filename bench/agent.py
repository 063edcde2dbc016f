"""What the agent takes from its VM while nothing happens, and how soon it acts when something does."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import processes
from bench.figures import Figure, figure_of
from bench.plain_service import PlainService, plain_service, reboot
from bench.processes import CannotMeasure, memory_megabytes
from bench.region import PROGRAM, served

PART = "agent"
_MOST_MEGABYTES = 25.0
_MOST_CPU_PERCENT = 0.3
_MOST_START_SECONDS = 0.3
_MOST_POLLING_MS = 1200.0
_MOST_WAITING_MS = 100.0
SETTLING_SECONDS = 1.5  # until an agent that has started is idle: nothing tells us when
_IDLE_SECONDS = 10.0
_PAUSE_SECONDS = 0.4  # until an agent waits for news again
_PATIENCE_SECONDS = 20.0


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """One agent after another for its size, all of them together for what a poll costs and how late it is."""
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as name, Wire(Path(name) / "wire") as wire:
        directory = Path(name)
        with plain_service() as service:
            figures = _sizes(service, directory, wire, rounds)
            say(f"{rounds} agents had their first look after {figures[0].measured()}")
            figures += _polling(service, directory, wire, rounds)
            say(f"{rounds} agents polled once a second for {_IDLE_SECONDS:g} s, then met {rounds} events")
        figures += _waiting(directory, wire, rounds)
        say(f"one agent that is answered when there is news met {2 * rounds} events")
    return figures


# An agent alone


def _sizes(service: PlainService, directory: Path, wire: Wire, rounds: int) -> list[Figure]:
    starts, resident, proportional = [], [], []
    for number in range(rounds):
        guest = f"alone-{number}"
        begun = time.perf_counter()
        with running_agent(directory / guest, f"http://127.0.0.1:{service.port}/{guest}", wire, guest) as agent:
            starts.append(first_read(service, guest) - begun)
            time.sleep(SETTLING_SECONDS)
            resident.append(memory_megabytes(agent.pid))
            proportional.append(_proportional_megabytes(agent.pid))
    return [
        figure_of(PART, "start to first read", starts, "s", _MOST_START_SECONDS),
        figure_of(PART, "memory, idle, resident", resident, "MB", _MOST_MEGABYTES),
        figure_of(PART, "memory, idle, proportional", proportional, "MB", _MOST_MEGABYTES),
    ]


def first_read(service: PlainService, guest: str) -> float:
    """When the agent asked for its document, having learned its name."""
    with service.asked:
        if not service.asked.wait_for(lambda: guest in service.read_at, _PATIENCE_SECONDS):
            raise CannotMeasure("the agent does not read its document")
    return service.read_at[guest]


def _proportional_megabytes(pid: int) -> float:
    """Memory that is shared with others counts in part: among them other Pythons, this one for one."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise CannotMeasure("the kernel does not tell Pss")


# Agents that poll


def _polling(service: PlainService, directory: Path, wire: Wire, rounds: int) -> list[Figure]:
    """The agents begin a part of a second after one another, so that an event meets every phase of a poll."""
    with ExitStack() as stack:
        pids = []
        for number in range(rounds):
            guest = f"polling-{number}"
            endpoint = f"http://127.0.0.1:{service.port}/{guest}"
            pids.append(stack.enter_context(running_agent(directory / guest, endpoint, wire, guest)).pid)
            first_read(service, guest)
            time.sleep(1 / rounds)
        time.sleep(SETTLING_SECONDS)
        before = service.reads
        shares = _cpu_percent(pids)
        polls = (service.reads - before) / rounds
        delays = [delay for number in range(rounds) for delay in _announce(service, wire, number, rounds)]
    note = f"{polls:g} polls of each agent in {_IDLE_SECONDS:g} s"
    return [
        figure_of(PART, "CPU at one poll a second", shares, "% of a core", _MOST_CPU_PERCENT, note=note),
        *_delays("event scheduled to first step started, polling", delays, _MOST_POLLING_MS),
    ]


def _cpu_percent(pids: list[int]) -> list[float]:
    before, begun = [_cpu_seconds(pid) for pid in pids], time.perf_counter()
    time.sleep(_IDLE_SECONDS)
    lasted = time.perf_counter() - begun
    return [(_cpu_seconds(pid) - used) / lasted * 100 for pid, used in zip(pids, before, strict=True)]


def _cpu_seconds(pid: int) -> float:
    """Of all the process's threads, to the nanosecond: /proc counts in hundredths, of which an idle agent has few."""
    return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid(3) makes it


def _announce(service: PlainService, wire: Wire, number: int, agents: int) -> list[float]:
    """Milliseconds until each agent has begun its step. Then the event is taken back, and all come back."""
    time.sleep(number / agents**2)  # the last round ended with a poll: begin at another moment between two
    begun = time.perf_counter()
    service.show(reboot(number))
    delays = [(at - begun) * 1e3 for at in wire.hear("do", agents)]
    service.show()
    wire.hear("undo", agents)
    return delays


# An agent that is told


def _waiting(directory: Path, wire: Wire, rounds: int) -> list[Figure]:
    delays = []
    with served("--user-operation-limit", "0") as region:
        region.create("web", 1)
        region.get("/vm/web-0/metadata/scheduledevents?api-version=2020-07-01")
        endpoint = f"http://127.0.0.1:{region.metadata_port}/vm/web-0"
        with running_agent(directory / "waiting", endpoint, wire, "waiting"):
            time.sleep(SETTLING_SECONDS)
            for _ in range(2 * rounds):
                begun = time.perf_counter()
                events = region.call("POST", "/v1/vms/restart", {"names": ["web-0"]})["events"]
                delays += [(at - begun) * 1e3 for at in wire.hear("do", 1)]
                time.sleep(_PAUSE_SECONDS)
                region.call("POST", "/v1/events/cancel", {"ids": [event["id"] for event in events]})
                wire.hear("undo", 1)
                time.sleep(_PAUSE_SECONDS)
    return _delays("event scheduled to first step started, Prefer: wait", delays, _MOST_WAITING_MS)


def _delays(what: str, delays: list[float], limit: float) -> list[Figure]:
    return [
        figure_of(PART, f"{what}, median", delays, "ms", limit),
        Figure(PART, f"{what}, longest of {len(delays)}", max(delays), "ms", limit),
    ]


# Processes


@contextmanager
def running_agent(
    directory: Path,
    endpoint: str,
    wire: Wire,
    guest: str,
    program: Sequence[str] = (PROGRAM,),
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """The agent as its users run it, for as long as the block lasts."""
    directory.mkdir()
    config, log = directory / "agent.toml", directory / "log"
    config.write_text(_TOML.format(endpoint=endpoint, state=directory / "state", wire=wire.path), encoding="utf-8")
    with log.open("wb") as file:
        command = [*program, "agent", "run", "--config", str(config)]
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        yield process
        if process.poll() is not None:
            raise CannotMeasure(f"agent {guest} has ended: {log.read_text(encoding='utf-8')}")
    finally:
        processes.end(process)


_TOML = """
[agent]
endpoint = "{endpoint}"
poll = "1s"
state_directory = "{state}"

[[rule]]
name = "always"
verdict = "prepare-only"

[[step]]
name = "tell"
kind = "command"
shell = true
run = ["echo do >>{wire}"]
undo = ["echo undo >>{wire}"]
"""


class Wire:
    """A named pipe on which steps tell that they run."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def hear(self, word: str, wanted: int) -> list[float]:
        """When each of the next words came, which must be this one."""
        heard: list[float] = []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(heard) < wanted:
            if not select.select([self._file], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise CannotMeasure(f"{wanted - len(heard)} of {wanted} agents did not {word} their step")
            at, words = time.perf_counter(), os.read(self._file, 4096).decode().split()
            if set(words) != {word}:
                raise CannotMeasure(f"steps told {words} instead of {word}")
            heard += [at] * len(words)
        return heard

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
