"""Everything that serves VMs keeps the same promises."""

from __future__ import annotations

import select
import sys
from datetime import timedelta

import pytest

from forewarn.web.metadata.settings import MetadataSettings
from tests.contract.metadata.bench import FaceBench, RelayBench
from tests.contract.metadata.cases import CASES
from tests.contract.metadata.readers_bench import ReadersBench
from tests.e2e.metadata_region import get, region_of

# Elsewhere there are none
READERS: dict[str, type[FaceBench]] = {"readers": ReadersBench} if sys.platform == "linux" else {}

FACES: dict[str, type[FaceBench]] = {"node": FaceBench, "relay": RelayBench, **READERS}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("face", FACES)
def test_what_the_metadata_face_promises(face: str, name: str) -> None:
    with region_of(FACES[face]) as bench:
        CASES[name](bench)


@pytest.mark.parametrize("face", FACES)
def test_a_vm_may_ask_as_often_as_the_owner_says(face: str) -> None:
    settings = MetadataSettings(throttle_per_second=0.02)  # one in fifty seconds: no test lasts as long
    with region_of(FACES[face], settings) as bench:
        bench.create("web", "web-0")
        assert [bench.get("web").status for _ in range(3)] == [200, 429, 429]
        assert bench.get("web-0").status == 200


@pytest.mark.parametrize("face", FACES)
def test_the_first_answer_comes_as_late_as_the_owner_says(face: str) -> None:
    settings = MetadataSettings(first_read_delay=timedelta(minutes=2))
    with region_of(FACES[face], settings) as bench:
        bench.create("web")
        guest = bench.guest()
        guest.send(get("web"))
        bench.until(lambda: "vm/web" in bench.do(lambda: bench.plane.region.scopes), "the enabling")
        bench.advance(timedelta(minutes=1))
        assert not select.select([guest.socket], [], [], 0.5)[0]
        bench.advance(timedelta(minutes=1))
        assert guest.answer().status == 200


@pytest.mark.parametrize("face", FACES)
def test_changes_show_as_late_as_the_owner_says(face: str) -> None:
    settings = MetadataSettings(visibility_lag=timedelta(seconds=30))
    with region_of(FACES[face], settings) as bench:
        bench.create("web")
        first = bench.get("web").incarnation()
        bench.restart("web")
        assert bench.get("web").incarnation() == first
        bench.advance(timedelta(seconds=30))
        bench.until(lambda: bench.get("web").incarnation() == first + 1, "the event, once it may show")
