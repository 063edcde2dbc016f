"""Twenty thousand VMs, each with a source address of its own, all connected: does each get its own document?"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import Figure
from bench.lines import Exchange, Heard, Line, get
from bench.processes import CannotMeasure, cpu_seconds, memory_megabytes, raise_open_files
from bench.region import DOCUMENT, served

PART = "callers"
CALLERS = 20_000
_NOBODY = 1_000  # files that a server needs besides its connections, generously


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """All read once, which enables them; maintenance gives each an event of its own; all read again."""
    if raise_open_files() < CALLERS + _NOBODY:
        raise CannotMeasure(f"{CALLERS + _NOBODY} open files are needed; see ulimit -n")
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        file = Path(directory) / "region.toml"
        file.write_text("".join(f'[[vm]]\nname = "caller-{n}"\naddress = "{address_of(n)}"\n' for n in range(CALLERS)))
        with served("--config", str(file), "--clock", "virtual") as region:
            say(f"{region.call('GET', '/v1/ping')['vms']} VMs, each bound to an address")
            lines = [Line(region.metadata_port, address_of(number)) for number in range(CALLERS)]
            exchange = Exchange(lines)
            try:
                first = exchange.ask({line: get(f"/{DOCUMENT}") for line in lines})
                region.call("POST", "/v1/hosts/maintain", {"hosts": [], "kind": "freeze"})
                begun, cpu = time.perf_counter(), cpu_seconds(region.pid)
                second = exchange.ask({line: get(f"/{DOCUMENT}") for line in lines})
                seconds, cpu = time.perf_counter() - begun, cpu_seconds(region.pid) - cpu
            finally:
                exchange.close()
            held = memory_megabytes(region.pid)
    wrong = sum(heard.status != 200 for heard in first.values())
    wrong += sum(not _is_own(second[line], f"caller-{number}") for number, line in enumerate(lines))
    say(f"{len(second) / seconds:,.0f} answers/s with {CALLERS:,} connections open")
    return [
        Figure(PART, f"wrong or missing answers to {CALLERS:,} distinct callers, twice each", wrong, "", 0),
        Figure(PART, "a caller's own document, first time encoded", cpu / CALLERS * 1e6, "µs CPU"),
        Figure(PART, f"RSS with {CALLERS:,} connections open", held, "MB"),
    ]


def address_of(number: int) -> str:
    """Loopback addresses, none of them one that somebody may be using."""
    return f"127.{64 + number // 62_500}.{number // 250 % 250 + 1}.{number % 250 + 1}"


def _is_own(heard: Heard, vm: str) -> bool:
    """One event, and it names this VM and no other."""
    if heard.status != 200:
        return False
    events = json.loads(heard.body)["Events"]
    return [event["Resources"] for event in events] == [[vm]]
