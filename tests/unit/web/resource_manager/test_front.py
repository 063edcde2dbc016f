"""What every request passes before a route sees it: host, token, api-version, path, body; and what answers carry."""

from __future__ import annotations

import json

import pytest

from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Uncertain
from forewarn.plane.standing import Standing
from forewarn.stores.memory import MemoryJournal
from forewarn.web.resource_manager.reading import MOST_BODY_BYTES, MOST_FORM_FIELDS, MOST_PARTS
from tests.unit.web.resource_manager.bench import NETWORK, RG, Bench, S, open_bench

pytestmark = pytest.mark.anyio


async def test_a_request_without_a_token_gets_a_challenge(bench: Bench) -> None:
    answer = await bench.client.get(f"{S}?api-version=2024-11-01", headers={"Authorization": ""})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith('Bearer authorization_uri="https://127.0.0.1:16927/')
    assert answer.json()["error"]["code"] == "InvalidAuthenticationToken"


@pytest.mark.parametrize("header", [{"Authorization": "Basic x"}, {"Authorization": "Bearer "}])
async def test_a_token_is_a_bearer_token(bench: Bench, header: dict[str, str]) -> None:
    answer = await bench.client.put(f"{RG}?api-version=2024-11-01", json={"location": "westus"}, headers=header)

    assert answer.status_code == 401
    assert not bench.plane.region.resources


async def test_every_request_needs_an_api_version(bench: Bench) -> None:
    answer = await bench.client.get(S)

    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "code": "MissingApiVersionParameter",
        "message": "The api-version query parameter (?api-version=) is required for all requests.",
    }


@pytest.mark.parametrize("version", ["latest", "2024", "2024-11-01\r\nX: y", "2024-11-01'"])
async def test_an_api_version_is_a_date(bench: Bench, version: str) -> None:
    answer = await bench.client.get(S, params={"api-version": version})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "InvalidApiVersionParameter"


@pytest.mark.parametrize("version", ["2015-06-15", "2026-04-01", "2023-10-01-preview"])
async def test_any_date_is_taken_as_an_api_version(bench: Bench, version: str) -> None:
    assert (await bench.client.get(S, params={"API-Version": version})).status_code == 200


async def test_a_host_that_was_rebound_learns_nothing(bench: Bench) -> None:
    answer = await bench.client.get(f"{S}?api-version=2024-11-01", headers={"Host": "evil.example"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "InvalidHostHeader"
    assert "is told so by --hosts (FOREWARN_HOSTS)." in answer.json()["error"]["message"]


async def test_the_configured_host_is_ours(bench: Bench) -> None:
    async with open_bench(hosts=("arm.test",), base_url="https://arm.test:16927") as other:
        await other.get(S)


async def test_answers_name_their_request(bench: Bench) -> None:
    answer = await bench.ask("GET", S, headers={"x-ms-client-request-id": "mine", "x-ms-correlation-request-id": "c"})

    assert answer.headers["x-ms-client-request-id"] == "mine"
    assert answer.headers["x-ms-correlation-request-id"] == "c"
    assert answer.headers["x-ms-request-id"]


async def test_a_command_is_known_by_the_name_that_az_gives_it(bench: Bench) -> None:
    await bench.ask("PUT", RG, {"location": "westus"}, 201, headers={"CommandName": "group create"})

    (record,) = bench.plane.journal.read(0, 10)[-1:]
    assert (record.origin.door, record.origin.who) == ("resource-manager", "group create")
    agent = "AZURECLI/2.91.0 (PIP) azsdk-python-core/1.39.0 Python/3.11.7"
    headers = {"CommandName": "group update", "User-Agent": agent}
    await bench.ask("PUT", RG, {"location": "westus", "tags": {"a": "b"}}, 200, headers=headers)
    assert bench.plane.journal.read(0, 10)[-1].origin.who == "az group update"


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff", b'{"a": NaN}', b'{"a": "\\ud800"}', b"[" * 100_000, json.dumps([[[]]]).encode() * 2],
)
async def test_what_is_not_json_is_refused(bench: Bench, content: bytes) -> None:
    error = await bench.refused(400, "PUT", RG, content=content, headers={"Content-Type": "application/json"})

    assert error["code"] == "InvalidRequestContent"


async def test_json_may_not_be_nested_without_end(bench: Bench) -> None:
    deep = '{"location": "westus", "x": ' + "[" * 70 + "]" * 70 + "}"

    error = await bench.refused(400, "PUT", RG, content=deep.encode())

    assert "nested" in error["message"]


@pytest.mark.parametrize("piece", ["0", "[]", '""'])
async def test_a_body_of_very_many_values_is_refused_before_it_is_parsed(bench: Bench, piece: str) -> None:
    """A parser in C gives nobody else a turn: what it may be given is counted."""
    content = '{"location": "westus", "x": [' + ",".join([piece] * (MOST_PARTS + 1)) + "]"  # and no JSON

    error = await bench.refused(400, "PUT", RG, content=content.encode())

    assert f"more than {MOST_PARTS} values" in error["message"]


async def test_a_body_of_many_values_is_taken(bench: Bench) -> None:
    disk = f"{RG}/providers/Microsoft.Compute/disks/d"
    await bench.group()
    await bench.put(disk, {"location": "westus", "properties": {"x": list(range(MOST_PARTS // 2))}}, 200)

    assert len((await bench.get(disk))["properties"]["x"]) == MOST_PARTS // 2


async def test_a_form_of_many_fields_is_refused_without_a_token_too(bench: Bench) -> None:
    """Whoever reaches the face may send one: a form of a megabyte kept everybody waiting for half a second."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": ""}
    for content, fits in ((b"a=1&" * MOST_FORM_FIELDS, False), (b"a=1&" * (MOST_FORM_FIELDS - 1) + b"b=1", True)):
        answer = await bench.client.post("/organizations/oauth2/v2.0/token", content=content, headers=headers)
        assert answer.status_code == 400
        assert (f"more than {MOST_FORM_FIELDS} fields" in answer.text) is not fits


async def test_a_large_body_is_refused(bench: Bench) -> None:
    error = await bench.refused(413, "PUT", RG, {"location": "x" * MOST_BODY_BYTES})

    assert error["code"] == "RequestContentTooLarge"


@pytest.mark.parametrize("name", ["a%2Fb", "a%5Cb", "a%00b", "x" * 300])
async def test_a_name_with_a_slash_is_no_name(bench: Bench, name: str) -> None:
    await bench.group()

    error = await bench.refused(400, "PUT", f"{NETWORK}/virtualNetworks/{name}", {"location": "westus"})

    assert error["code"] == "InvalidResourceName"


async def test_paths_are_compared_without_case_and_double_slashes_count_as_one(bench: Bench) -> None:
    await bench.put(f"{S}/resourceGroups/Rg1", {"location": "westus"})
    await bench.put(f"{NETWORK}/virtualNetworks/Net", {"location": "westus"})

    found = await bench.get(f"{S.upper()}/resourcegroups/RG1/PROVIDERS/microsoft.network//virtualnetworks/NET")

    assert found["id"] == f"{S}/resourceGroups/Rg1/providers/Microsoft.Network/virtualNetworks/Net"


async def test_another_subscription_is_not_here(bench: Bench) -> None:
    error = await bench.refused(404, "GET", "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups")

    assert error["code"] == "SubscriptionNotFound"


async def test_a_group_that_is_not_there_holds_nothing(bench: Bench) -> None:
    error = await bench.refused(404, "PUT", f"{NETWORK}/virtualNetworks/net", {"location": "westus"})

    assert error == {"code": "ResourceGroupNotFound", "message": "Resource group 'rg1' could not be found."}


async def test_an_unknown_path_is_not_found(bench: Bench) -> None:
    assert (await bench.refused(404, "GET", "/nowhere"))["code"] == "NotFound"
    assert (await bench.refused(404, "GET", f"{S}/nowhere"))["code"] == "NotFound"
    assert (await bench.refused(405, "POST", f"{S}/resourceGroups"))["code"] == "MethodNotAllowed"


class _BrokenJournal(MemoryJournal):
    fault: JournalFault | None = None

    def write(self):  # type: ignore[no-untyped-def]  # fails before it writes
        if self.fault:
            raise self.fault
        return super().write()


async def test_a_journal_that_cannot_be_written_is_unavailable() -> None:
    journal = _BrokenJournal()
    async with open_bench(journal=journal) as bench:
        journal.fault = JournalFault("The disk is full; make room.")
        answer = await bench.ask("PUT", RG, {"location": "westus"}, 503)
        journal.fault = None

    assert answer.json()["error"] == {"code": "ServiceUnavailable", "message": "The disk is full; make room."}
    assert answer.headers["retry-after"] == "1"


async def test_an_internal_fault_says_under_which_id_the_log_tells_more(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plane, "region", None)

    answer = await bench.ask("GET", f"{S}/resourceGroups", status=500)

    request_id = answer.headers["x-ms-request-id"]
    assert answer.json()["error"]["code"] == "InternalServerError"
    assert request_id in answer.json()["error"]["message"]
    assert request_id in caplog.text
    monkeypatch.undo()  # the region closes by itself


async def test_a_node_that_may_not_be_current_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Standing, "stale", "This node has not heard from its store for 10 s.")

    for method in ("GET", "PUT"):
        answer = await bench.client.request(method, f"{RG}?api-version=2024-11-01", json={"location": "westus"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert answer.json()["error"] == {
            "code": "ServiceUnavailable",
            "message": "This node has not heard from its store for 10 s.",
        }


async def test_every_request_looks_what_other_nodes_have_written(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    async def refresh(plane: Plane) -> None:
        looks.append(plane)

    monkeypatch.setattr(Plane, "refresh", refresh)
    await bench.client.get(f"{S}/resourceGroups?api-version=2024-11-01")
    await bench.client.get("/metadata/endpoints?api-version=2024-11-01")

    assert looks == [bench.plane]


async def test_what_may_have_happened_is_told_as_that_and_is_not_tried_again(anyio_backend: str) -> None:
    """azure-core (policies/_retry.py) sends a POST again after 500, 503 and 504, and after any no that says when."""
    journal = _BrokenJournal()
    async with open_bench(journal=journal) as bench:
        journal.fault = Uncertain("The connection was lost at port 5432 of db.example.")
        answer = await bench.ask("PUT", RG, {"location": "westus"}, 502)
        journal.fault = None

    assert answer.json()["error"]["code"] == "BadGateway"
    assert "it has happened, or it has not" in answer.json()["error"]["message"]
    assert "db.example" not in answer.text
    assert "Retry-After" not in answer.headers


async def test_links_name_what_the_client_asked(bench: Bench) -> None:
    await bench.group()
    await bench.create_vm("web", resource_group="rg1")
    path = f"{RG}/providers/Microsoft.Compute/virtualMachines/web/restart"
    answer = await bench.ask("POST", path, status=202, headers={"Host": "localhost:8443"})

    assert answer.headers["Azure-AsyncOperation"].startswith("https://localhost:8443/subscriptions/")
    assert answer.headers["Location"].startswith("https://localhost:8443/subscriptions/")
