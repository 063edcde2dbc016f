"""All hosts on one map: a square for each, or for some; counts of what there is to tell, and the worst by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from forewarn.plane.read_models.census import HEALTHS, WORK, down_at

_CELLS_MOST = 600  # ours: half a screen; where there are more hosts, a cell stands for several
_LINKS_MOST = 100  # ours: beyond that, each row of squares leads to its hosts, and no square does by itself
_COLUMNS = 30  # with _CELLS_MOST twenty rows of squares, half a screen
_WORST_MOST = 5  # hosts with their names below the map; the list of hosts has all of them
_SHADES = 4  # ours: as many as can be told apart; how much of a square it is that has work or VMs that do not run
# What there may be to tell of a host, the worst last. The first three are healths of their own.
_RANKS = ("", "work", "down", "failing", "silent", "failed")


@dataclass(frozen=True)
class Cell:
    """What leads to one place: a square, or where very many have news a whole row of them."""

    path: str
    first: str  # the names of the hosts from and to which it goes
    last: str
    number: int  # of the first
    text: str
    state: str = ""  # of the worst of them; none where the squares are drawn for themselves


@dataclass(frozen=True)
class Squares:
    """Squares that look alike, as one path: ``shade`` is how dark they are, from 1 to 4."""

    path: str
    state: str
    shade: int


@dataclass(frozen=True)
class HostMap:
    """Hosts as squares. Those of which there is nothing to tell are drawn as one path."""

    columns: int
    rows: int
    each: int  # hosts of a square
    quiet: str  # the path
    drawn: list[Squares]
    cells: list[Cell]
    counts: dict[str, int]  # "work" and "down": hosts with open work, and with VMs that do not run
    worst: list[tuple[str, str]]  # a few hosts of which there is something to tell, and what
    total: int  # of all such hosts


def host_map(told: bytes, name_of: Callable[[int], str]) -> HostMap:
    """At most so many squares that a page stays small, whatever the number of hosts."""
    each = -(-len(told) // _CELLS_MOST) or 1
    total = -(-len(told) // each)
    columns = min(_COLUMNS, total) or 1
    ranks = told.translate(_RANK_OF)
    looks = [_look(ranks[first : first + each]) for first in range(0, len(told), each)]
    marked = [at for at in range(total) if looks[at][0]]
    leading = _by_square if len(marked) <= _LINKS_MOST else _by_row
    return HostMap(
        columns=columns,
        rows=-(-total // columns),
        each=each,
        quiet=_path((at for at in range(total) if not looks[at][0]), columns),
        drawn=[] if leading is _by_square else _alike(looks, columns),
        cells=list(leading(told, looks, marked, each, columns, name_of)),
        counts={"work": told.translate(_HAS_WORK).count(1), "down": told.translate(_HAS_DOWN).count(1)},
        worst=[(name_of(number), told_of(told[number])) for number in _worst(ranks)],
        total=len(told) - ranks.count(0),
    )


def _rank(host: int) -> int:
    health = HEALTHS[host & 3].value
    return _RANKS.index(health if health in _RANKS else "down" if down_at(host) else "work" if host & WORK else "")


_RANK_OF = bytes(_rank(host) for host in range(256))
_HAS_WORK = bytes(bool(host & WORK) for host in range(256))
_HAS_DOWN = bytes(bool(down_at(host)) for host in range(256))


@lru_cache(4_096)
def _look(ranks: bytes) -> tuple[str, int]:
    """Of a square: its worst host, and how dark it is. A host that is not healthy is never pale."""
    worst = max(ranks)
    if worst > _RANKS.index("down") or not worst:
        return _RANKS[worst], _SHADES
    return _RANKS[worst], -(-_SHADES * ranks.count(worst) // len(ranks))


def _alike(looks: list[tuple[str, int]], columns: int) -> list[Squares]:
    found: dict[tuple[str, int], list[int]] = {}
    for at, look in enumerate(looks):
        if look[0]:
            found.setdefault(look, []).append(at)
    return [Squares(_path(iter(squares), columns), *look) for look, squares in sorted(found.items())]


Looks = list[tuple[str, int]]
NameOf = Callable[[int], str]


def _by_square(
    told: bytes, looks: Looks, marked: list[int], each: int, columns: int, name_of: NameOf
) -> Iterator[Cell]:
    for at in marked:
        first, last = at * each, min((at + 1) * each, len(told)) - 1
        text = looks[at][0] if each > 1 else told_of(told[first])
        yield Cell(_path(iter((at,)), columns), name_of(first), name_of(last), first, text, looks[at][0])


def _by_row(told: bytes, looks: Looks, marked: list[int], each: int, columns: int, name_of: NameOf) -> Iterator[Cell]:
    for row in range(-(-len(looks) // columns)):
        first, last = row * columns * each, min((row + 1) * columns * each, len(told)) - 1
        squares = min(columns, len(looks) - row * columns)
        news = last + 1 - first - told[first : last + 1].translate(_RANK_OF).count(0)
        path = f"M0 {row * 10}h{squares * 10}v10H0z"
        yield Cell(path, name_of(first), name_of(last), first, f"{news} with something to tell")


def _path(squares: Iterator[int], columns: int) -> str:
    """Those that follow each other in a row go on from where the last one stood."""
    parts, before = [], -2
    for at in squares:
        beside = at == before + 1 and at % columns
        parts.append("m10 0h8v8h-8z" if beside else f"M{at % columns * 10 + 1} {at // columns * 10 + 1}h8v8h-8z")
        before = at
    return "".join(parts)


def _worst(ranks: bytes) -> list[int]:
    """The numbers of the first few hosts, the worst first. Where many have work and nothing else, none of them is."""
    found: list[int] = []
    few = len(ranks) - ranks.count(0) <= _WORST_MOST
    for rank in range(len(_RANKS) - 1, 0 if few else _RANKS.index("work"), -1):
        at = ranks.find(rank)
        while at >= 0 and len(found) < _WORST_MOST:
            found.append(at)
            at = ranks.find(rank, at + 1)
    return found


def told_of(host: int) -> str:
    """A host's byte in words."""
    words = [HEALTHS[host & 3].value]
    if host & WORK:
        words.append("work is open")
    if down := down_at(host):
        words.append(f"{down if down < 31 else '31 or more'} {'VM does' if down == 1 else 'VMs do'} not run")
    return ", ".join(words)
