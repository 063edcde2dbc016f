"""Scale sets through the operator face, as several tests make and change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

SETS = "/v1/scale-sets"


async def make(bench: Bench, name: str = "web", **spec: Any) -> Any:
    return await bench.post(SETS, {"name": name, "capacity": 3, **spec}, 201)


async def change(bench: Bench, name: str = "web", **spec: Any) -> Any:
    answer = await bench.client.put(f"{SETS}/{name}", json=spec)
    assert answer.status_code == 202, answer.text
    return answer.json()


async def names_in(bench: Bench, name: str = "web") -> list[str]:
    return [vm["name"] for vm in (await bench.get(f"{SETS}/{name}"))["instances"]]
