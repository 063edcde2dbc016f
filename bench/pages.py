"""The portal's pages, parts and hints among a thousand and among a million VMs, quiet and with 200 000 open events."""

from __future__ import annotations

import gzip
import http.client
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, figure_of
from bench.million import await_answer
from bench.processes import CannotMeasure, exact_cpu_seconds, memory_megabytes, wait_for
from bench.region import Served
from bench.stock import NAME, SIZE, stocked

PART = "pages"
FEW, OPEN_EVENTS = 1_000, SIZE // 5  # an update domain is a fifth of the fleet
_TIMES = 20  # requests of one measurement
_PAGE_MS, _MANY_MS, _SEARCH_MS, _PART_MS = 5.0, 7.5, 10.0, 1.5
_PAGE_BYTES, _NODES = 8_000, 3_000
_SCRIPT, _SCRIPT_PACKED, _STYLE, _STYLE_PACKED = 40_000, 14_000, 24_000, 6_000
_READY_SECONDS, _MEGABYTES = 5.0, 80.0
_PATIENCE_SECONDS = 240.0
_STATIC = Path(__file__).parents[1] / "src/forewarn/web/portal/static"
_TAG = re.compile(rb"<[a-z]")
_PAGES = {
    "overview": "/portal/",
    "events": "/portal/events",
    "an event": "/portal/events/{event}",
    "VMs": "/portal/vms",
    "VMs, filtered": "/portal/vms?q=99+ud:2",
    "a VM": f"/portal/vms/{NAME}-7",
    "a VM, what it sees": f"/portal/vms/{NAME}-7?tab=sees",
    "a VM, activity": f"/portal/vms/{NAME}-7?tab=activity",
    "availability sets": "/portal/availability-sets",
    "cloud services": "/portal/cloud-services",
    "a scope": f"/portal/scopes/vm/{NAME}-7",
    "scale sets": "/portal/scale-sets",
    "hosts": "/portal/hosts",
    "a host": "/portal/hosts/host-3",
    "campaigns": "/portal/campaigns",
    "a campaign": "/portal/campaigns/{campaign}",
    "faults": "/portal/faults",
    "activity": "/portal/activity",
    "nodes": "/portal/nodes",
    "settings": "/portal/settings",
    "search": f"/portal/search?q={NAME}-99",
    "new VMs": "/portal/vms/new",
    "confirmation": f"/portal/do/restart?vm={NAME}-7",
}
_SEARCHES = {"found": f"{NAME}-99", "not found": "no-such-name", "digits": "12345"}
_PARTS = {"counts of the overview": ("/portal/", "part-counts"), "list of VMs": ("/portal/vms", "part-vms")}


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Each region in turn, for a million VMs leave no room for another."""
    with _few() as region:
        figures = _of_files(region)
        figures += _of(region, f"{FEW:,} VMs", _PAGE_MS, rounds, say)
    with _many(say) as region:
        figures += _ready(region, say)
        figures += _of(region, f"{SIZE:,} VMs", _MANY_MS, rounds, say)
        _open_events(region, say)
        figures += _of(region, f"{SIZE:,} VMs, {OPEN_EVENTS:,} events", _MANY_MS, rounds, say)
    return figures


def _of_files(region: Served) -> list[Figure]:
    """As they are served: without what only readers of the source want, and compressed one by one."""
    found, asking = [], _Asking(region, {})
    for kind, plain_limit, packed_limit in (("js", _SCRIPT, _SCRIPT_PACKED), ("css", _STYLE, _STYLE_PACKED)):
        paths = [f"/portal/static/any/{path.name}" for path in sorted(_STATIC.glob(f"*.{kind}"))]
        plain, packed = (sum(len(asking.once(path, how)[1]) for path in paths) for how in ({}, _LIKE_A_BROWSER))
        what = {"js": "scripts", "css": "styles"}[kind]
        found += [
            Figure(PART, f"{what}, all files", float(plain), "bytes", plain_limit),
            Figure(PART, f"{what}, all files, compressed", float(packed), "bytes", packed_limit),
        ]
    return found


# Regions


@contextmanager
def _few() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        region = Served(Path(directory), "--clock", "virtual")
        try:
            region.wait()
            region.create(NAME, FEW, read=True)
            region.call("POST", "/v1/campaigns", {"kind": "freeze", "hosts": ["host-0"]})
            yield region
        finally:
            region.end()


@contextmanager
def _many(say: Callable[[str], None]) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        region = Served(stocked(Path(directory), say), "--clock", "virtual")
        try:
            await_answer(region)
            wait_for(region.control_port, region.pid)
            yield region
        finally:
            region.end(signal.SIGKILL)


def _ready(region: Served, say: Callable[[str], None]) -> list[Figure]:
    """Register and census, from the first ask on, which comes back every tenth of a second."""
    held, cpu, begun = memory_megabytes(region.pid), exact_cpu_seconds(region.pid), time.perf_counter()
    while not region.call("GET", "/v1/fleet")["ready"]:
        time.sleep(0.1)
    seconds, cpu = time.perf_counter() - begun, exact_cpu_seconds(region.pid) - cpu
    held = memory_megabytes(region.pid) - held
    say(f"register and census ready after {seconds:.1f} s, {cpu:.1f} s of CPU, {held:.0f} MB")
    return [
        Figure(PART, f"register and census of {SIZE:,} VMs, ready after", seconds, "s", _READY_SECONDS),
        Figure(PART, f"register and census of {SIZE:,} VMs, made in", cpu, "s CPU", _READY_SECONDS),
        Figure(PART, f"register and census of {SIZE:,} VMs", held, "MB", _MEGABYTES),
    ]


def _open_events(region: Served, say: Callable[[str], None]) -> None:
    """A campaign over everything: its first wave schedules an event for each VM of an update domain."""
    region.call("POST", "/v1/campaigns", {"kind": "freeze"})
    deadline, found = time.monotonic() + _PATIENCE_SECONDS, 0
    while found < OPEN_EVENTS:
        if time.monotonic() > deadline:
            raise CannotMeasure(f"only {found:,} of {OPEN_EVENTS:,} events were scheduled in time")
        time.sleep(1.0)
        found = region.call("GET", "/v1/fleet")["events_total"]
    say(f"{found:,} events are open")


# Pages


@dataclass(frozen=True)
class _Asking:
    """A region, and the names that stand in its addresses."""

    region: Served
    names: Mapping[str, str]

    def cpu_ms(self, path: str, headers: Mapping[str, str]) -> float:
        """Of the server, for each of some requests on one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.region.control_port, timeout=60)
        try:
            before = exact_cpu_seconds(self.region.pid)
            for _ in range(_TIMES):
                self.ask(connection, path, headers)
            return (exact_cpu_seconds(self.region.pid) - before) / _TIMES * 1e3
        finally:
            connection.close()

    def once(self, path: str, headers: Mapping[str, str]) -> tuple[int, bytes, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self.region.control_port, timeout=60)
        try:
            return self.ask(connection, path, headers)
        finally:
            connection.close()

    def ask(
        self, connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str]
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        connection.request("GET", path.format_map(self.names), headers=dict(headers))
        answer = connection.getresponse()
        body = answer.read()
        if answer.status not in (200, 304):
            raise CannotMeasure(f"GET {path} was answered with {answer.status}")
        return answer.status, body, answer.headers


_LIKE_A_BROWSER = {"Accept-Encoding": "gzip"}


def _of(region: Served, size: str, limit: float, rounds: int, say: Callable[[str], None]) -> list[Figure]:
    event = region.call("GET", "/v1/events?limit=1")["events"]
    campaign = region.call("GET", "/v1/campaigns?limit=1")["campaigns"]
    names = {"event": event[0]["id"] if event else "", "campaign": campaign[0]["id"] if campaign else ""}
    asking = _Asking(region, names)
    figures: list[Figure] = []
    largest, most_nodes = (0, ""), (0, "")
    for what, path in _PAGES.items():
        if any(f"{{{name}}}" in path and not found for name, found in names.items()):
            continue  # there is none of these here
        body = asking.once(path, _LIKE_A_BROWSER)[1]
        largest = max(largest, (len(body), what))
        most_nodes = max(most_nodes, (len(_TAG.findall(gzip.decompress(body))), what))
        taken = [asking.cpu_ms(path, _LIKE_A_BROWSER) for _ in range(rounds)]
        figures.append(figure_of(PART, f"{what}, {size}", taken, "ms CPU", limit))
    say(f"{size}: " + ", ".join(f"{each.what.removesuffix(', ' + size)} {each.value:.1f}" for each in figures))
    for what, text in _SEARCHES.items():
        taken = [asking.cpu_ms(f"/v1/search?q={text}", {}) for _ in range(rounds)]
        figures.append(figure_of(PART, f"/v1/search, {what}, {size}", taken, "ms CPU", _SEARCH_MS))
    return [
        *figures,
        *_parts(asking, size, rounds),
        Figure(PART, f"largest page, {size}", float(largest[0]), "bytes", _PAGE_BYTES, note=largest[1]),
        Figure(PART, f"most elements of a page, {size}", float(most_nodes[0]), "", _NODES, note=most_nodes[1]),
    ]


def _parts(asking: _Asking, size: str, rounds: int) -> list[Figure]:
    """A part that has not changed since: the usual answer to a hint, of which the page needs nothing."""
    figures = []
    for what, (path, part) in _PARTS.items():
        headers = {**_LIKE_A_BROWSER, "X-Forewarn-Part": part}
        taken = [asking.cpu_ms(path, headers) for _ in range(rounds)]
        figures.append(figure_of(PART, f"part on a hint, {what}, {size}", taken, "ms CPU", _PART_MS))
        again = {**headers, "If-None-Match": asking.once(path, headers)[2]["ETag"]}
        status, body, _ = asking.once(path, again)
        if (status, body) == (304, b""):
            taken = [asking.cpu_ms(path, again) for _ in range(rounds)]
            figures.append(
                figure_of(PART, f"the same, unchanged: 304 without a body, {size}", taken, "ms CPU", _PART_MS)
            )
    return figures
