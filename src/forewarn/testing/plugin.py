"""What pytest loads by itself: the ``region`` fixture, and the timeline below the report of a test that failed."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from forewarn.testing.region import Region

_HEADING = "forewarn: what happened in the region"
_KEPT: pytest.StashKey[Region] = pytest.StashKey()


@pytest.fixture
def region(request: pytest.FixtureRequest) -> Iterator[Region]:
    """A region on a real socket at a free port of 127.0.0.1. Its clock stands still until the test turns it."""
    from forewarn.testing import MissingServerExtra

    try:
        from forewarn.testing import open_region
    except MissingServerExtra as problem:
        pytest.fail(str(problem), pytrace=False)
    with open_region() as opened:
        request.node.stash[_KEPT] = opened
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A plain ``assert`` tells little about time; the helpers of the region bring the timeline along themselves."""
    report = yield
    kept = item.stash.get(_KEPT, None)
    if kept is not None and report.failed and call.when == "call" and call.excinfo is not None:
        told = kept.story()
        if told not in str(call.excinfo.value):
            report.sections.append((_HEADING, told))
    return report
