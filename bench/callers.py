"""Twenty thousand VMs, each with a source address of its own: does each get its own document?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure
from bench.lines import Exchange, Heard, Line, get
from bench.processes import cpu_seconds, memory_megabytes, raise_open_files
from bench.region import DOCUMENT, Served, served

PART = "callers"
CALLERS = 20_000
_OTHER_FILES = 5_000  # what a server keeps for a burst (4,096) and for journal, control faces and listeners (512)


@dataclass(frozen=True)
class _Read:
    """What came of everybody's reading twice: each answer with whose it is, microseconds for each, memory at most."""

    answers: list[tuple[Heard, str]]
    first_cpu: float
    next_cpu: float
    megabytes: float


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """All read, which enables them; maintenance gives each an event of its own; all read again."""
    at_once = min(CALLERS, raise_open_files() - _OTHER_FILES)
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        file = Path(directory) / "region.toml"
        file.write_text("".join(map(_table, range(CALLERS))))
        with served("--config", str(file), "--clock", "virtual") as region:
            say(f"{CALLERS:,} VMs, each bound to an address; {at_once:,} connections at once")
            first = _all_read(region, at_once)
            region.call("POST", "/v1/hosts/maintain", {"hosts": [], "kind": "freeze"})
            second = _all_read(region, at_once)
    wrong = sum(heard.status != 200 for heard, _ in first.answers)
    wrong += sum(not _is_own(heard, vm) for heard, vm in second.answers)
    return [
        Figure(PART, f"wrong or missing answers to {CALLERS:,} distinct callers, four to each", wrong, "", 0),
        Figure(PART, "a caller's own document, encoded for the first time", second.first_cpu, "µs CPU"),
        Figure(PART, "a caller's next read", second.next_cpu, "µs CPU"),
        Figure(PART, f"RSS with {at_once:,} connections open", second.megabytes, "MB"),
    ]


def _table(number: int) -> str:
    return f'[[vm]]\nname = "{name_of(number)}"\naddress = "{address_of(number)}"\n'


def name_of(number: int) -> str:
    return f"caller-{number}"


def address_of(number: int) -> str:
    """Loopback addresses, none of them one that somebody may be using."""
    return f"127.{64 + number // 62_500}.{number // 250 % 250 + 1}.{number % 250 + 1}"


def _all_read(region: Served, at_once: int) -> _Read:
    answers: list[tuple[Heard, str]] = []
    spent = [0.0, 0.0]
    held = 0.0
    for first in range(0, CALLERS, at_once):
        numbers = range(first, min(first + at_once, CALLERS))
        lines = {Line(region.metadata_port, address_of(number)): name_of(number) for number in numbers}
        exchange = Exchange(lines)
        try:
            for turn in range(2):
                before = cpu_seconds(region.pid)
                heard = exchange.ask({line: get(f"/{DOCUMENT}") for line in lines})
                spent[turn] += cpu_seconds(region.pid) - before
                answers += [(heard[line], vm) for line, vm in lines.items()]
            held = max(held, memory_megabytes(region.pid))
        finally:
            exchange.close()
    return _Read(answers, spent[0] / CALLERS * 1e6, spent[1] / CALLERS * 1e6, held)


def _is_own(heard: Heard, vm: str) -> bool:
    """One event, and it names this VM and no other."""
    if heard.status != 200:
        return False
    events = json.loads(heard.body)["Events"]
    return [event["Resources"] for event in events] == [[vm]]
