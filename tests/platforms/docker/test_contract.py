"""dockerd and podman keep what every engine promises."""

from __future__ import annotations

import pytest

from tests.contract.engines.cases import CASES
from tests.platforms.docker.bench import ContainerBench

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("kind", ["dockerd", "podman"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_containers_keep_the_promise_that(name: str, kind: str, request: pytest.FixtureRequest) -> None:
    bench = ContainerBench(request.getfixturevalue(kind))
    try:
        why_not = CASES[name].why_not(bench)
        if why_not:
            pytest.skip(why_not)
        CASES[name].check(bench)
    finally:
        bench.close()
