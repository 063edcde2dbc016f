"""The service's time: a Date of whole seconds never sets back what is already known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.agent.deciding.service_time import ServiceTime

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@given(st.floats(0, 0.999), st.lists(st.floats(0, 40), max_size=20))
def test_the_services_time_never_goes_back_while_its_clock_runs_and_is_right_to_the_second(
    begin: float, gaps: list[float]
) -> None:
    time, elapsed, last = ServiceTime(), begin, NOON
    for gap in (0.0, *gaps):
        elapsed += gap
        truth = NOON + timedelta(seconds=elapsed)
        before = time.now(elapsed)
        time.heard(truth.replace(microsecond=0), elapsed)
        found = time.now(elapsed)
        assert found is not None
        assert before is None or found >= before
        assert found >= last
        assert truth - timedelta(seconds=1) <= found <= truth + timedelta(milliseconds=1)
        last = found


def test_a_clock_that_was_turned_or_stands_is_followed() -> None:
    time = ServiceTime()
    assert time.now(5.0) is None
    time.heard(NOON, 5.0)
    time.heard(NOON, 35.0)  # it stands
    assert time.now(35.0) == NOON
    time.heard(NOON + timedelta(hours=1), 36.0)
    assert time.now(36.5) == NOON + timedelta(hours=1, seconds=0.5)
    time.heard(NOON, 37.0)
    assert time.now(37.0) == NOON
