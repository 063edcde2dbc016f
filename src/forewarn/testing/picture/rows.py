"""A history as rows of bars: VMs by their sets, hosts and campaigns as bands above them, and where to look first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from forewarn.testing.picture.history import History, Home, Life

_NUMBER = re.compile(r"(\d+)")
MOST_ROWS = 2_000  # ours: a canvas higher than 32,767 pixels is not drawn by every browser
MOST_WORST = 12  # ours: what a person looks through


@dataclass(frozen=True, slots=True)
class PictureBar:
    """From when to when, of which type (its colour) and which phase (its shape), and what to say of it."""

    begin: datetime
    end: datetime
    type: str
    phase: str  # notice, impact, recovery, canceled, life, band or fault
    told: str


@dataclass(slots=True)
class PictureRow:
    name: str
    kind: str  # group, band or vm
    bars: list[PictureBar] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WorstMoment:
    """A moment to look at, and the row that it is about."""

    at: datetime
    row: int
    told: str


def rows_of(history: History, end: datetime, bands: Iterable[PictureRow] = ()) -> list[PictureRow]:
    """Bands first (faults, campaigns, hosts), then sets each by itself, then VMs that stand alone by their hosts."""
    by_vm: dict[str, list[Life]] = {}
    for life in history.lives.values():
        for vm in life.vms:
            by_vm.setdefault(vm, []).append(life)
    rows = [*bands, *_campaigns(history, end), *_hosts(history, end)]
    for title, homes in _groups(history):
        rows.append(PictureRow(title, "group"))
        for key, home in homes:
            told = f"{home.name}{f' ({home.tenant})' if home.tenant else ''}, host-{home.host}"
            row = PictureRow(home.name, "vm", [PictureBar(home.born_at, home.gone_at or end, "", "life", told)])
            for life in by_vm.get(key, ()):
                row.bars += bars_of(life, home.name, end)
            rows.append(row)
    return rows[:MOST_ROWS]


def worst_of(history: History, rows: list[PictureRow]) -> list[WorstMoment]:
    """Whom something hit with the least warning: without an event first, then those that nobody approved."""
    places = {row.name: number for number, row in enumerate(rows) if row.kind == "vm"}
    hit = [life for life in history.lives.values() if life.started_at is not None and not life.early]
    hit.sort(key=lambda life: (life.started_at or life.scheduled_at) - life.scheduled_at)
    found = []
    for life in hit:
        vm = history.homes[life.vms[0]].name if life.vms and life.vms[0] in history.homes else ""
        if vm not in places or life.started_at is None:
            continue
        ahead = life.started_at - life.scheduled_at
        warned = f"{span(ahead)} of warning, nobody approved" if ahead else "without warning"
        warned = warned if life.announced else "without an event: nobody read"
        found.append(WorstMoment(life.started_at, places[vm], f"{vm}: {life.type} ({life.cause}), {warned}"))
        if len(found) == MOST_WORST:
            break
    return found


def bars_of(life: Life, vm: str, last: datetime) -> Iterator[PictureBar]:
    """Notice, impact and recovery of one event, one after the other."""
    told, end = told_of(life, vm), life.ended_at or last
    if life.started_at is None:
        yield PictureBar(life.scheduled_at, end, life.type, "canceled" if life.how == "canceled" else "notice", told)
        return
    impact_end = life.impact_ended_at or end
    if life.started_at > life.scheduled_at:
        yield PictureBar(life.scheduled_at, life.started_at, life.type, "notice", told)
    if end > impact_end:
        yield PictureBar(impact_end, end, life.type, "recovery", told)
    yield PictureBar(life.started_at, impact_end, life.type, "impact", told)


def told_of(life: Life, vm: str) -> str:
    lines = [f"{vm}: {life.type} ({life.cause})", f"scheduled {life.scheduled_at:%a %H:%M:%S}"]
    if life.not_before > life.scheduled_at:
        lines[1] += f", NotBefore {life.not_before:%a %H:%M:%S}"
    if life.started_at is not None:
        how = "at once" if life.born_started else "approved" if life.early else "at NotBefore"
        by = f" by {life.approved_by}" if life.early else ""
        lines.append(f"started {life.started_at:%a %H:%M:%S}, {how}{by}")
    if life.ended_at is not None:
        lines.append(f"{life.how} {life.ended_at:%a %H:%M:%S}")
    if len(life.vms) > 1:
        lines.append(f"with {len(life.vms) - 1} other VMs")
    return "\n".join(lines)


def span(length: timedelta) -> str:
    seconds = length.total_seconds()
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def _campaigns(history: History, end: datetime) -> Iterator[PictureRow]:
    for campaign in history.campaigns.values():
        told = f"campaign {campaign.id[:8]} ({campaign.cause})"
        yield PictureRow(told, "band", [PictureBar(campaign.begin, campaign.end or end, "", "band", told)])


def _hosts(history: History, end: datetime) -> Iterator[PictureRow]:
    """A band for each host that was worked on: its work at a glance, once for all scopes that live there."""
    bands: dict[int, dict[tuple[datetime, datetime], PictureBar]] = {}
    for life in history.lives.values():
        if life.host is not None and life.started_at is not None:
            last = life.impact_ended_at or life.ended_at or end
            told = f"host-{life.host}: {life.type} ({life.cause})"
            band = bands.setdefault(life.host, {})
            band[life.started_at, last] = PictureBar(life.started_at, last, life.type, "impact", told)
    for host in sorted(bands):
        yield PictureRow(f"host-{host}", "band", list(bands[host].values()))


def _groups(history: History) -> Iterator[tuple[str, list[tuple[str, Home]]]]:
    sets: dict[str, list[tuple[str, Home]]] = {}
    alone: list[tuple[str, Home]] = []
    for key, home in history.homes.items():
        kind, _, name = home.scope.partition("/")
        if kind == "vm":
            alone.append((key, home))
        else:
            word = "scale set" if kind == "placement-group" else kind.replace("-", " ")
            sets.setdefault(f"{word} {name.partition('~')[0]}", []).append((key, home))
    for title in sorted(sets, key=_natural):
        yield title, sorted(sets[title], key=lambda each: _natural(each[1].name))
    if alone:
        yield "lone VMs, by host", sorted(alone, key=lambda each: (each[1].host or 0, _natural(each[1].name)))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(name)]
