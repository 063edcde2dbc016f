"""A container that a real engine makes and will not start: nothing of it is left, and its name is free."""

from __future__ import annotations

import pytest
from msgspec import structs

from forewarn.core.machines.values import ErrandKind, MachinePower
from forewarn.engines.docker.engine import DockerEngine
from forewarn.plane.hands.engine import Failed
from tests.contract.engines.bench import Permit, carry_through, done, errand_for
from tests.platforms.docker.bench import ContainerBench
from tests.platforms.docker.daemons import CALL_SECONDS

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("kind", ["dockerd", "podman"])
def test_a_container_whose_program_is_not_in_its_image_leaves_nothing(
    kind: str, request: pytest.FixtureRequest
) -> None:
    bench = ContainerBench(request.getfixturevalue(kind))
    mistaken = [structs.replace(each, command=("/bin/wrok",)) for each in bench.blueprints]
    engine = DockerEngine("containers", bench.paths(), mistaken, CALL_SECONDS)
    try:
        result = engine.carry_out(errand_for(bench, ErrandKind.CREATE, None), Permit())
        assert isinstance(result, Failed), result
        assert "wrok" in result.why
        assert result.lasting, result.why
        assert (bench.truth("web-1"), bench.left_of("web-1")) == ((), ())
        again = carry_through(bench, errand_for(bench, ErrandKind.CREATE, None, 2))
        assert done(again).sighting.power is MachinePower.RUNNING
        assert bench.left_of("web-1") == ("web-1-data",)
        carry_through(bench, errand_for(bench, ErrandKind.DELETE, bench.truth("web-1")[0], 3))
        assert (bench.truth("web-1"), bench.left_of("web-1")) == ((), ())
    finally:
        engine.close()
        bench.close()
