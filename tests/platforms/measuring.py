"""What the figures of all engines are made of."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

# Echo requests (RFC 792) from inside a network; the moment of each answer on its standard output
_PING = """
import select, socket, struct, sys, time
wire = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
number = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    number = (number + 1) % 65536
    head = struct.pack("!BBHHH", 8, 0, 0, 77, number)
    total = sum(struct.unpack("!4H", head))
    total = ~((total & 65535) + (total >> 16)) & 65535
    wire.sendto(struct.pack("!BBHHH", 8, 0, total, 77, number), (sys.argv[1], 0))
    ends = time.monotonic() + 0.1
    while (left := ends - time.monotonic()) > 0 and select.select([wire], [], [], left)[0]:
        said = wire.recv(2000)
        if said[20] == 0 and said[24:26] == struct.pack("!H", 77):
            print(time.monotonic(), flush=True)
"""
_IDLE_SECONDS = 20.0


def between(facts: Sequence[dict[str, Any]], first: str, last: str) -> float:
    """Seconds from the first fact of that name to the last of the other; the facts are those of one event."""
    begins = next(each["at"] for each in facts if each["fact"] == first)
    ends = [each["at"] for each in facts if each["fact"] == last][-1]
    return (datetime.fromisoformat(ends) - datetime.fromisoformat(begins)).total_seconds()


@dataclass
class Gap:
    """The longest silence; and when the first and the last answer came, by the monotonic clock."""

    seconds: float = 0.0
    first: float = float("nan")
    last: float = float("nan")


@contextmanager
def longest_gap(inside: Sequence[str], address: str) -> Iterator[Gap]:
    """How long a neighbour that pings ten times a second gets no answer, at most, while the block lasts."""
    line = [*inside, sys.executable, "-c", _PING, address]
    pinging = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    found = Gap()
    try:
        yield found
    finally:
        heard = [float(each) for each in pinging.communicate()[0].split()]  # its input ends, and so does it
        found.seconds = max((later - earlier for earlier, later in pairwise(heard)), default=0.0)
        if heard:
            found.first, found.last = heard[0], heard[-1]


def idle_cost(pid: int) -> tuple[int, float]:
    """The resident memory of a process that nobody asks anything, in KiB, and its share of one core in percent."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(_IDLE_SECONDS)
    used = (ticks() - before) / os.sysconf("SC_CLK_TCK")
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return resident, 100 * used / _IDLE_SECONDS
