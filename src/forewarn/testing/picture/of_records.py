"""The picture of a test's region, from its journal and its timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from forewarn.core.facts import VmCreated
from forewarn.core.region import fold
from forewarn.core.specs import ScopeKind
from forewarn.plane.ports import Record
from forewarn.testing.moments import Moment
from forewarn.testing.picture.history import History, Home
from forewarn.testing.picture.page import html
from forewarn.testing.picture.rows import PictureBar, PictureRow, rows_of, worst_of

_MARGIN = timedelta(minutes=1)  # so that what happened at the last instant is inside


def write_picture(path: Path, records: Iterable[Record], told: Sequence[Moment], now: datetime) -> Path:
    begin = told[0].at if told else now
    history = History(begin - _MARGIN)
    for record in records:
        if isinstance(record.fact, VmCreated):
            history.homes[fold(record.fact.name)] = _home(record.fact)
        history.follow(record.fact)
    end = now + _MARGIN
    rows = rows_of(history, end, _marks(told))
    summary = [str(moment) for moment in told]
    text = html(f"forewarn: {path.stem}", summary, history.begin, end, rows, worst_of(history, rows))
    path.write_text(text, encoding="utf-8")
    return path


def _home(fact: VmCreated) -> Home:
    alone = fact.spec.kind is ScopeKind.VM
    scope = f"vm/{fold(fact.name)}" if alone else f"{fact.spec.kind.value}/{fact.spec.set_name}"
    return Home(fact.name, scope, fact.host, fact.at)


def _marks(told: Sequence[Moment]) -> Iterator[PictureRow]:
    """Notes and requests, a band for each that spoke; facts are the bars below."""
    by: dict[str, list[PictureBar]] = {}
    for moment in told:
        if moment.order and moment.by:
            bar = PictureBar(moment.at, moment.at, "", "fault", f"{moment.at:%H:%M:%S} {moment.by}: {moment.text}")
            by.setdefault(moment.by, []).append(bar)
    for name, bars in by.items():
        yield PictureRow(name, "band", bars)
