"""The twin keeps what every engine promises."""

from __future__ import annotations

import pytest

from tests.contract.engines.cases import CASES
from tests.contract.engines.twin_bench import TwinBench


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_twin_keeps_the_promise_that(name: str) -> None:
    bench = TwinBench()
    assert CASES[name].why_not(bench) == ""
    CASES[name].check(bench)
