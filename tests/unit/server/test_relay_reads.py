"""What a relay tells of its VMs' reads, beside what its upstream takes in one body."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from forewarn.server.relaying.ground import RelayGround
from forewarn.server.relaying.line import Upstream, UpstreamFault
from forewarn.web.body_size import too_many_parts
from forewarn.web.operator.gate import MOST_BODY_BYTES, MOST_FIELDS, MOST_PARTS
from forewarn.web.operator.routes.relays import ReadsBody

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MANY = {f"a-vm-of-a-large-host-{number}": NOON + timedelta(seconds=number) for number in range(20_000)}


@dataclass(frozen=True)
class Listening(Upstream):
    """An upstream that notes what it is asked, and goes away when it has heard ``patience`` times."""

    patience: int = 1_000
    bodies: list[bytes] = field(default_factory=list)

    async def ask(self, path: str, body: Any) -> bytes:
        assert path == "/v1/relays/reads"
        if len(self.bodies) == self.patience:
            raise UpstreamFault("it is gone.", asked=False)
        self.bodies.append(msgspec.json.encode(body))
        return b'{"seq":1}'

    def heard(self) -> dict[str, datetime]:
        told: dict[str, datetime] = {}
        for body in self.bodies:
            assert len(body) <= MOST_BODY_BYTES
            assert not too_many_parts(body, MOST_PARTS, MOST_FIELDS)
            told |= ReadsBody.model_validate_json(body).reads
        return told


async def test_reads_of_very_many_vms_are_told_in_bodies_that_an_upstream_takes() -> None:
    upstream = Listening("http://127.0.0.1:1")
    ground = RelayGround([upstream])
    ground.last = dict(MANY)
    await ground.report_reads()
    assert upstream.heard() == MANY
    assert ground.last == {}


async def test_what_an_upstream_has_not_heard_is_told_the_next_time_unless_the_vm_has_read_since() -> None:
    upstream = Listening("http://127.0.0.1:1", patience=3)
    ground = RelayGround([upstream])
    ground.last = dict(MANY)
    await ground.report_reads()
    told = upstream.heard()
    assert 0 < len(told) < len(MANY)
    assert ground.last == {name: at for name, at in MANY.items() if name not in told}
    again = next(iter(ground.last))
    ground.last[again] = NOON + timedelta(days=1)
    ground.upstreams = [upstream := Listening("http://127.0.0.1:1")]
    await ground.report_reads()
    assert upstream.heard()[again] == NOON + timedelta(days=1)
    assert set(upstream.heard()) | set(told) == set(MANY)
