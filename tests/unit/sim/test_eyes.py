"""The judge of what guests see, on a world of one VM whose clock the test turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from forewarn.guest.http1 import OutgoingRequest, Response
from forewarn.sim.judging.eyes import Eyes

_START = datetime(2026, 3, 2, tzinfo=UTC)
_GET = OutgoingRequest("GET", "/metadata/scheduledevents?api-version=2020-07-01")


class _World:
    """Stands for ``Circumstances``: a clock, and a network that may keep answers under way."""

    def __init__(self) -> None:
        self.at = 0.0
        self.truth = SimpleNamespace(latest_at=_START)

    def ticks(self) -> float:
        return self.at

    def seconds(self, at: datetime) -> float:
        return (at - _START).total_seconds()

    def disturbed(self, vm: str, begin: float, kinds: Container[str] = ()) -> bool:
        return True


class _Oracle:
    """Every document is empty but for its number."""

    memory = SimpleNamespace(machines={"web": SimpleNamespace(scope="vm/web")})

    def paper(self, scope: str) -> _Oracle:
        return self

    def body(self, version: str, number: int) -> bytes:
        return b'{"DocumentIncarnation":%d,"Events":[]}' % number


class _Seen:
    def __init__(self, *, many_nodes: bool = False) -> None:
        self.world, self.blamed = _World(), list[str]()
        blame = lambda rule, told, subject: self.blamed.append(f"{rule}: {told}")  # noqa: E731 - a stand-in of one line
        world: Any = self.world
        oracle: Any = _Oracle()
        self.eyes = Eyes(world, oracle, blame, Counter(), behind_seconds=0.0, many_nodes=many_nodes)
        for number in (1, 2, 3):
            self.eyes.keep("vm/web", number)

    def answered(self, number: int, *, asked_at: float, at: float) -> None:
        self.world.at = at
        fields = {"etag": f'"{number}"', "date": format_datetime(_START + timedelta(seconds=at), usegmt=True)}
        self.eyes.saw("web", _GET, Response(200, fields, _Oracle().body("", number)), asked_at)


def test_an_answer_that_was_under_way_may_be_older_than_what_was_heard_meanwhile() -> None:
    seen = _Seen()
    seen.answered(2, asked_at=9.0, at=10.0)
    seen.answered(3, asked_at=10.0, at=15.0)
    seen.answered(2, asked_at=14.0, at=16.0)
    assert seen.blamed == []


@pytest.mark.parametrize("asked_at", [15.0, 15.5])
def test_who_asks_after_a_document_was_seen_is_not_told_of_an_older_one(asked_at: float) -> None:
    seen = _Seen()
    seen.answered(3, asked_at=10.0, at=15.0)
    seen.answered(2, asked_at=asked_at, at=16.0)
    assert seen.blamed == ["wire: web saw document 2 after document 3"]


def test_an_answer_under_way_may_not_be_older_than_what_was_seen_before_it_was_asked_for() -> None:
    seen = _Seen()
    seen.answered(2, asked_at=9.0, at=10.0)
    seen.answered(3, asked_at=10.0, at=15.0)
    seen.answered(1, asked_at=14.0, at=16.0)
    assert seen.blamed == ["wire: web saw document 1 after document 2"]


def test_another_node_may_be_behind() -> None:
    seen = _Seen(many_nodes=True)
    seen.answered(3, asked_at=10.0, at=15.0)
    seen.answered(2, asked_at=15.5, at=16.0)
    assert seen.blamed == []


def test_a_vm_that_comes_again_by_its_name_starts_anew() -> None:
    seen = _Seen()
    seen.answered(3, asked_at=10.0, at=15.0)
    seen.eyes.forget("web")
    seen.answered(2, asked_at=15.5, at=16.0)
    assert seen.blamed == []
