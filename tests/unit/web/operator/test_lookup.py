"""Names: found in any spelling, and refused in the same words by those who look and those who act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("look", "act", "body"),
    [
        ("/v1/vms/nobody", "/v1/vms/restart", {"names": ["nobody"]}),
        ("/v1/hosts/host-99", "/v1/hosts/fail", {"hosts": ["host-99"]}),
        ("/v1/hosts/host-00", "/v1/hosts/fail", {"hosts": ["host-00"]}),
        ("/v1/scale-sets/none", "/v1/scale-sets/none/restart", {}),
        ("/v1/scopes/vm/nobody", "/v1/scopes/vm/nobody/policy", {"all_instances_down": True}),
        ("/v1/campaigns/C-1", "/v1/campaigns/C-1/pause", {}),
    ],
)
async def test_what_is_not_there_is_refused_in_the_same_words(
    bench: Bench, look: str, act: str, body: dict[str, Any]
) -> None:
    await bench.create("web")

    seen = await bench.refused(404, "GET", look)
    method = "PUT" if act.endswith("/policy") else "POST"
    done = await bench.refused(404, method, act, body)

    assert seen == done


async def test_what_is_there_is_found_in_any_spelling(bench: Bench) -> None:
    await bench.create("web")
    (host,) = (await bench.get("/v1/hosts"))["hosts"]

    assert (await bench.get("/v1/vms/WEB"))["name"] == "web"
    assert (await bench.get(f"/v1/hosts/{host['name'].upper()}"))["name"] == host["name"]
    assert (await bench.get("/v1/scopes/VM/Web"))["key"] == "vm/web"
