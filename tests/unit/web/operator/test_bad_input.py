"""Bad input of every kind: refused with a sentence that names what is wrong, and nothing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "'name' is missing"),
        ({"name": ""}, "'name'"),
        ({"name": 5}, "'name'"),
        ({"name": "web", "cuont": 3}, "There is no field 'cuont' here."),
        ({"name": "web", "count": 0}, "'count'"),
        ({"name": "web", "count": 10_001}, "'count'"),
        ({"name": "web", "count": "3"}, "'count'"),
        ({"name": "web", "count": True}, "'count'"),
        ({"name": "web", "first": -1}, "'first'"),
        ({"name": "web", "spot": "yes"}, "'spot'"),
        ({"name": "web", "eviction_policy": "Burn"}, "'eviction_policy'"),
        ({"name": "web", "availability_set": "a", "cloud_service": "b"}, "availability_set and cloud_service"),
        ({"name": "web", "role": "FrontEnd"}, "cloud_service"),
        ({"name": "web", "cloud_service": "shop"}, "role"),
        ({"name": "web", "count": 2, "address": "10.0.0.4"}, "single VM"),
        ({"name": "web", "numbered": True, "count": 2, "netns": "x"}, "single VM"),
        ({"name": "web", "address": "here"}, "'here'"),
        ({"name": "web", "local_address": "10.0.0.4"}, "loopback"),
        ({"name": "web", "netns": "../etc"}, "'../etc' cannot name a network namespace"),
        ({"name": "web", "netns": "n", "interface": "a/b"}, "'a/b' cannot name a network interface"),
        ({"name": "web", "interface": "tap0"}, "name the namespace too"),
        ({"name": "web", "terminate_notice_seconds": 60}, "between 5 and 15 minutes"),
        ({"name": "web", "terminate_notice_seconds": 1e300}, "'terminate_notice_seconds'"),
        ({"name": "web", "os_image_notice_seconds": 600}, "15 minutes"),
        ({"name": "web", "resource_group": "no/way"}, "'resource_group'"),
        ({"name": "web", "resource_group": "ends."}, "no '.' at the end"),
        ({"name": "web", "tags": {"a": 1}}, "'tags.a'"),
        ({"name": "web", "tags": {str(n): "" for n in range(51)}}, "'tags'"),
        ({"name": "web", "os_type": "Plan9"}, "'os_type'"),
        ({"name": "web/../../etc"}, "web/../../etc"),
        ({"name": "-web"}, "-web"),
        ({"name": "w" * 81}, "1 to 80"),
        ({"name": "w" * 257}, "'name'"),
        ({"name": "web", "availability_set": "no way"}, "no way"),
        ([], "JSON object"),
        ("web", "JSON object"),
        (17, "JSON object"),
    ],
)
async def test_a_vm_that_cannot_be_is_refused(bench: Bench, body: Any, named: str) -> None:
    assert named in await bench.refused(400, "POST", "/v1/vms", body)


@pytest.mark.parametrize(
    ("content", "headers", "named"),
    [
        (b"", {}, "needs a JSON body"),
        (b"", JSON, "needs a JSON body"),
        (b"null", JSON, "JSON object"),
        (b"{", JSON, "not JSON"),
        (b'{"name": "web"', JSON, "not JSON"),
        (b'{"name": "web"}', {}, "Content-Type: application/json"),
        (b'{"name": "web"}', {"Content-Type": "text/plain"}, "Content-Type: application/json"),
        (b"name=web", {"Content-Type": "application/x-www-form-urlencoded"}, "Content-Type: application/json"),
        (b"\xff\xfe", JSON, "body"),
        (b"[" * 100_000, JSON, "body"),
        (b'{"name": "\\ud800"}', JSON, "'name'"),
        (b'{"\\ud800": 1}', JSON, "body"),
        (b'{"name": "web", "count": 1' + b"0" * 5000 + b"}", JSON, "body"),
        (b'{"name": "web", "terminate_notice_seconds": NaN}', JSON, "'terminate_notice_seconds'"),
    ],
)
async def test_a_body_that_is_none_is_refused(
    bench: Bench, content: bytes, headers: dict[str, str], named: str
) -> None:
    assert named in await bench.refused(400, "POST", "/v1/vms", content=content, headers=headers)


@pytest.mark.parametrize("verb", ["restart", "redeploy", "reimage", "stop", "deallocate", "start", "delete", "evict"])
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"names": []},
        {"names": "lone"},
        {"names": [1]},
        {"names": [""]},
        {"names": ["lone"], "force": True},
        {"names": ["lone"] * 10_001},
    ],
)
async def test_names_that_are_none_are_refused(bench: Bench, verb: str, body: dict[str, Any]) -> None:
    await bench.create("lone", spot=True)
    await bench.refused(400, "POST", f"/v1/vms/{verb}", body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/hosts/maintain", {}),
        ("/v1/hosts/maintain", {"kind": "failure"}),
        ("/v1/hosts/maintain", {"kind": "user-restart"}),
        ("/v1/hosts/maintain", {"kind": "freeze", "hosts": "host-0"}),
        ("/v1/hosts/maintain", {"kind": "freeze", "host": ["host-0"]}),
        ("/v1/hosts/fail", {}),
        ("/v1/hosts/fail", {"hosts": []}),
        ("/v1/campaigns", {}),
        ("/v1/campaigns", {"kind": "eviction"}),
        ("/v1/campaigns", {"kind": "freeze", "hosts_at_once": 0}),
        ("/v1/campaigns", {"kind": "freeze", "pace": 1}),
        ("/v1/events/approve", {"ids": []}),
        ("/v1/events/approve", {"id": "x"}),
        ("/v1/events/cancel", {"ids": ["x" * 65]}),
        ("/v1/clock/next", {"seconds": 1}),
        ("/v1/clock/advance", {"minutes": 1}),
    ],
)
async def test_an_unknown_word_or_field_is_refused(bench: Bench, path: str, body: dict[str, Any]) -> None:
    await bench.create("lone")
    await bench.refused(400, "POST", path, body)


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": "many"}, {"limit": 10_001}, {"scop": "vm/lone"}])
@pytest.mark.parametrize(
    "path", ["/v1/vms", "/v1/scale-sets", "/v1/scopes", "/v1/hosts", "/v1/campaigns", "/v1/events"]
)
async def test_a_page_that_cannot_be_is_refused(bench: Bench, path: str, query: dict[str, Any]) -> None:
    (name,) = query
    assert f"'{name}'" in await bench.refused(400, "GET", path, params=query)


async def test_many_mistakes_are_told_in_few_sentences(bench: Bench) -> None:
    message = await bench.refused(400, "POST", "/v1/vms", {f"field{number}": 1 for number in range(500)})
    assert "'name' is missing" in message
    assert "more like that" in message
    assert len(message) < 400


_NOTICES = {"terminate_notice_seconds": (300, 900), "os_image_notice_seconds": (900, 900)}


@pytest.mark.parametrize("schema", ["CreateVmsBody", "CreateScaleSetBody", "ScaleSetChangeBody"])
@pytest.mark.parametrize("field", sorted(_NOTICES))
async def test_the_schema_tells_the_bounds_of_a_notice_as_azure_documents_them(
    bench: Bench, schema: str, field: str
) -> None:
    document = await bench.get("/openapi.json")
    (number,) = [
        each
        for each in document["components"]["schemas"][schema]["properties"][field]["anyOf"]
        if each["type"] == "number"
    ]

    assert (number["minimum"], number["maximum"]) == _NOTICES[field]


@pytest.mark.parametrize("field", sorted(_NOTICES))
async def test_what_the_schema_bounds_is_accepted_at_its_bounds_and_not_beyond(bench: Bench, field: str) -> None:
    shortest, longest = _NOTICES[field]
    for path in ("/v1/vms", "/v1/scale-sets"):
        for number, seconds in enumerate((shortest, longest)):
            await bench.post(path, {"name": f"{field[:2]}-{path[-3:]}-{number}", field: seconds}, status=201)
        for seconds in (shortest - 1, longest + 1):
            assert "minutes" in await bench.refused(400, "POST", path, {"name": "beyond", field: seconds})
