"""What real machines cost those who have none: nothing that can be counted."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

from forewarn.core import commands as c
from forewarn.core.machines.values import MachinePower
from forewarn.core.specs import VmSpec
from tests.e2e.metadata_region import MetadataRegion, get, metadata_region

_GETS = 20
_OURS = ("/forewarn/web/", "/forewarn/core/", "/forewarn/wire/", "/forewarn/plane/reads")


def _calls_of_gets(region: MetadataRegion) -> Counter[str]:
    """Which functions of ours are called, and how often, for some GETs of one pretended VM over a real socket."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, what: str, _argument: Any) -> None:
        code = frame.f_code
        if what == "call" and any(part in code.co_filename for part in _OURS):
            calls[f"{code.co_filename.rpartition('/forewarn/')[2]}:{code.co_name}"] += 1

    async def watch(on: bool) -> None:
        sys.setprofile(count if on else None)

    guest = region.guest()
    first = get("web")
    assert guest.ask(first).status == 200  # the first read enables the scope
    region.run(watch(True))
    for number in range(_GETS):
        assert guest.ask(get("web", f"X-Number: {number}")).status == 200  # never the same bytes twice
    for _ in range(_GETS):
        assert guest.ask(first).status == 200
    region.run(watch(False))
    return calls


def test_a_get_of_a_pretended_vm_calls_the_same_functions_as_often_whatever_machines_there_are() -> None:
    with metadata_region() as plain:
        plain.create("web")
        alone = _calls_of_gets(plain)
    with metadata_region() as mixed:
        mixed.create("web")
        mixed.submit(c.RegisterHost("alpha", "twin", 0, 0, 200, ()))
        for number in range(100):
            spec, seed = VmSpec(), f"seed {number}"
            mixed.submit(
                c.AdoptMachine(f"real-{number}", spec, seed, "alpha", f"ref-{number}", "mark", MachinePower.RUNNING)
            )
        beside_machines = _calls_of_gets(mixed)

    assert sum(alone.values()) > 5 * _GETS  # else it was counted in the wrong place
    assert not [name for name in alone if "machine" in name or "errand" in name]
    assert alone == beside_machines
