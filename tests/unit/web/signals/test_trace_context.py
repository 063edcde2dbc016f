"""The header by which a caller names its trace. The examples are of W3C's Trace Context, 3.2.2 and 3.2.4."""

from __future__ import annotations

import pytest

from forewarn.web.signals.request_log import TraceParent, trace_parent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("field", "sampled"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", True),
    ],
)
def test_a_right_header_names_the_trace_and_the_callers_span(field: str, sampled: bool) -> None:
    assert trace_parent(field) == TraceParent(TRACE, SPAN, sampled)


@pytest.mark.parametrize(
    "field",
    [
        "",
        "nonsense",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
    ],
)
def test_a_header_that_is_not_right_is_as_if_it_were_not_there(field: str) -> None:
    assert trace_parent(field) is None
