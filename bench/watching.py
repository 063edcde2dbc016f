"""Pages that are watched while a region changes: what a hint costs, how soon it is seen, what VMs feel of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.browsers import browsers, watched
from bench.canary import Canary
from bench.figures import Figure, figure_of, percentile
from bench.lines import Exchange, Line, get
from bench.processes import CannotMeasure, exact_cpu_seconds
from bench.region import DOCUMENT, Served, served
from forewarn.core.causes import Cause
from forewarn.core.commands import CreateVms, MaintainHosts, Pulse
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from forewarn.plane.clock import wall_time
from forewarn.plane.ports import Origin, Record
from forewarn.web.operator.live.subjects import Subjects

PART = "watching"
_VMS, _BROWSERS = 20_000, 20
_DIGEST_US, _LINES, _LINE_BYTES, _SEEN_MS, _SHARE, _STALL_MS = 2.0, 4.0, 4_096, 500.0, 1.05, 10.0
_FACTS_A_SECOND, _AT_ONCE = 3_000, 500
_WRITING_SECONDS = 20.0
_READS = 20_000


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    figures = _digest(max(rounds, 3))
    with served("--clock", "virtual", "--user-operation-limit", "0") as region:
        region.create("web", _VMS, read=True)
        figures += _seen(region, say)
    with served("--clock", "virtual") as region:
        region.create("web", _VMS, read=True)
        figures += _reads(region, rounds)
        figures += _campaign(region, say)
    return figures


# What a fact costs


def _digest(rounds: int) -> list[Figure]:
    """As a batch of the writer brings them: a thousand at once, and hints every quarter of a second begin anew."""
    before, after, records = _batch()
    few = records[:10]
    figures = []
    for what, batch in ((f"{len(records)} facts between two hints", records), (f"{len(few)} facts", few)):
        taken = []
        for _ in range(rounds):
            turns = 20_000 // len(batch)
            begun = time.process_time()
            for _ in range(turns):
                Subjects().note(batch, before, after)
            taken.append((time.process_time() - begun) / turns / len(batch) * 1e6)
        figures.append(figure_of(PART, f"digest of a fact, {what}", taken, "µs CPU", _DIGEST_US))
    return figures


def _batch() -> tuple[Region, Region, Sequence[Record]]:
    now, rules, names = wall_time(), Rules(), tuple(f"web-{number}" for number in range(1_000))
    region, _ = step(Region(), CreateVms(names, VmSpec(), "seed"), now, rules)
    region, _ = step(region, Pulse(tuple((name, now) for name in names)), now, rules)
    hosts = tuple(host.name for host in region.hosts.values())
    after, facts = step(region, MaintainHosts(hosts, Cause.FREEZE, "seed"), now, rules)
    origin = Origin("operator")
    return region, after, [Record(number, fact, "MaintainHosts", origin) for number, fact in enumerate(facts, 1)]


def _seen(region: Served, say: Callable[[str], None]) -> list[Figure]:
    """Restarts that are taken back again, so many a second; each is a change whose way to the page is timed.

    A part that is asked for after a change was answered shows it; the page asks because a hint told it to.
    """
    names = [f"web-{number}" for number in range(_AT_ONCE)]
    changes: list[float] = []  # when a write was answered
    region.call("GET", "/v1/fleet")
    before = region.call("GET", "/v1/ping")["seq"]
    with watched(region.control_port, 1) as (watcher,):
        begun = time.perf_counter()
        while time.perf_counter() < begun + _WRITING_SECONDS:
            told = region.call("POST", "/v1/vms/restart", {"names": names})
            changes.append(time.perf_counter())
            region.call("POST", "/v1/events/cancel", {"ids": [event["id"] for event in told["events"]]})
            written = region.call("GET", "/v1/ping")["seq"] - before
            time.sleep(max(0.0, written / _FACTS_A_SECOND - (time.perf_counter() - begun)))
        seconds = time.perf_counter() - begun
        time.sleep(2.0)
    pace = (region.call("GET", "/v1/ping")["seq"] - before) / seconds
    shown = [[there for begun, there in watcher.seen if begun > answered] for answered in changes]
    delays = [(min(each) - answered) * 1e3 for each, answered in zip(shown, changes, strict=True) if each]
    if len(delays) < len(changes) // 2:
        raise CannotMeasure("changes were not seen")
    say(f"{pace:,.0f} facts a second, {len(watcher.hints)} hints in {seconds:.0f} s")
    return [
        Figure(PART, "facts written meanwhile", pace, "facts/s", note=f"{_FACTS_A_SECOND:,} were aimed at"),
        Figure(PART, "change answered to part in the page, median", percentile(delays, 0.5), "ms"),
        Figure(PART, "change answered to part in the page, 95th percentile", percentile(delays, 0.95), "ms", _SEEN_MS),
        Figure(PART, "hints a second", len(watcher.hints) / seconds, "lines/s", _LINES + 0.2),
        Figure(PART, "longest hint", float(max(size for _, _, size in watcher.hints)), "bytes", _LINE_BYTES),
    ]


# What VMs feel


def _reads(region: Served, rounds: int) -> list[Figure]:
    """A VM's GET while nobody watches and while twenty do, in turns. Nothing changes meanwhile."""
    ratios = []
    for _ in range(max(rounds, 3)):
        alone = _read_us(region)
        with browsers(region.control_port, _BROWSERS):
            time.sleep(1.0)
            ratios.append(_read_us(region) / alone)
    return [figure_of(PART, f"a VM's GET, {_BROWSERS} browsers to none", ratios, "x", _SHARE)]


def _read_us(region: Served) -> float:
    line = Line(region.metadata_port)
    exchange, request = Exchange([line]), get(f"/vm/web-1/{DOCUMENT}")
    try:
        before = exact_cpu_seconds(region.pid)
        for _ in range(_READS):
            exchange.ask({line: request})
        return (exact_cpu_seconds(region.pid) - before) / _READS * 1e6
    finally:
        exchange.close()


def _campaign(region: Served, say: Callable[[str], None]) -> list[Figure]:
    """A campaign over all VMs, each with an event of its own, once unwatched and once with twenty browsers."""
    figures, cpu = [], {}
    for watching in (0, _BROWSERS):
        with browsers(region.control_port, watching), Canary(region.metadata_port, "web-7") as canary:
            before = exact_cpu_seconds(region.pid)
            facts = _run_campaign(region)
            cpu[watching] = (exact_cpu_seconds(region.pid) - before) / facts * 1e6
        say(f"{watching} browsers: {facts:,} facts, {cpu[watching]:.0f} µs of CPU each")
        figures += canary.figures(PART, f"during a campaign, {watching} browsers")
        figures.append(Figure(PART, f"each fact of a campaign, {watching} browsers", cpu[watching], "µs CPU"))
    return figures


def _run_campaign(region: Served) -> int:
    before = region.call("GET", "/v1/ping")["seq"]
    campaign = region.call("POST", "/v1/campaigns", {"kind": "freeze"})["id"]
    for _ in range(100):
        region.call("POST", "/v1/clock/advance", {"seconds": 300})
        if region.call("GET", f"/v1/campaigns/{campaign}")["state"] != "running":
            return int(region.call("GET", "/v1/ping")["seq"] - before)
    raise CannotMeasure("the campaign did not end")
