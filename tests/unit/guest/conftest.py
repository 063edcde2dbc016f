from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.guest.shells import Guest, OnLoop, Waiting

MakeGuest = Callable[..., Guest]


@pytest.fixture(params=[Waiting, OnLoop], ids=["sync", "async"])
def make_guest(request: pytest.FixtureRequest) -> Iterator[MakeGuest]:
    """Makes clients of one kind, and closes them. They try again quickly; nothing else about them is special."""
    made: list[Guest] = []

    def make(endpoint: str | None, **options: Any) -> Guest:
        made.append(request.param(endpoint, **{"retry_seconds": 0.001, **options}))
        return made[-1]

    yield make
    for guest in made:
        guest.close()
