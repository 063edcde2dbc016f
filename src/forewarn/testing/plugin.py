"""What pytest loads by itself: the fixtures, the marker, and the timeline below the report of a test that failed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from forewarn.testing.region import Region

_HEADING = "forewarn: what happened in the region"
_KEPT: pytest.StashKey[list[Region]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'region(profile="azure", notice_user_restart="5m", ...): settings of the region that the test is given, by '
        "their names in docs/settings.md; also start= (a datetime)",
    )


@pytest.fixture
def open_regions(request: pytest.FixtureRequest) -> Iterator[Callable[..., Region]]:
    """Opens regions, as many as a test wants: ``open_regions(profile="azure")``. They end with the test."""
    from forewarn.testing import MissingServerExtra

    try:
        from forewarn.testing import open_region
    except MissingServerExtra as problem:
        pytest.fail(str(problem), pytrace=False)
    kept: list[Region] = []
    request.node.stash[_KEPT] = kept
    with ExitStack() as stack:

        def opened(**settings: Any) -> Region:
            kept.append(stack.enter_context(open_region(**settings)))
            return kept[-1]

        yield opened


@pytest.fixture
def region(request: pytest.FixtureRequest, open_regions: Callable[..., Region]) -> Region:
    """A region on a real socket at a free port of 127.0.0.1. Its clock stands still until the test turns it."""
    marker = request.node.get_closest_marker("region")
    if marker is not None and marker.args:
        pytest.fail("settings of a region are given by name: @pytest.mark.region(profile='azure')", pytrace=False)
    try:
        return open_regions(**(marker.kwargs if marker else {}))
    except ValueError as problem:
        pytest.fail(f"@pytest.mark.region: {problem}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A plain ``assert`` tells little about time; the helpers of the region bring the timeline along themselves."""
    report = yield
    if not report.failed or call.when != "call" or call.excinfo is None:
        return report
    for kept in item.stash.get(_KEPT, []):
        told = kept.story()
        if told not in str(call.excinfo.value):
            report.sections.append((_HEADING, told))
    return report
