"""What every request passes: names, origins, tokens, limits; and what no answer leaves without."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.plane.ports import JournalFault, Record
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.gate import MOST_FIELDS, MOST_PARTS

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench, OpenBench

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:16926", "127.0.0.1", "127.0.0.1:80", "[::1]:16926", "[::1]"])
async def test_loopback_names_are_answered(bench: Bench, host: str) -> None:
    answer = await bench.client.get("/v1/ping", headers={"Host": host})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "user@evil", "10.0.0.1"]
)
async def test_other_names_are_refused(bench: Bench, host: str) -> None:
    await bench.refused(400, "POST", "/v1/vms", {"name": "lone"}, headers={"Host": host})


async def test_a_configured_name_is_answered(open_bench: OpenBench, anyio_backend: str) -> None:
    async with open_bench(hosts=("Control.Example", "[fd00::1]"), token="sesame") as bench:
        bench.client.headers["Authorization"] = "Bearer sesame"
        for host in ("control.example:16926", "[fd00::1]:16926", "localhost"):
            assert (await bench.client.get("/v1/ping", headers={"Host": host})).status_code == 200
        await bench.refused(400, "GET", "/v1/ping", headers={"Host": "evil.example"})


async def test_any_name_can_be_allowed(open_bench: OpenBench, anyio_backend: str) -> None:
    async with open_bench(hosts=("*",)) as bench:
        assert (await bench.client.get("/v1/ping", headers={"Host": "whatever.example"})).status_code == 200


@pytest.mark.parametrize(
    "more",
    [
        {f"k{number}": 0 for number in range(MOST_FIELDS + 1)},
        {"name": [0] * (MOST_PARTS + 1)},
        {"name": [[]] * (MOST_PARTS + 1)},
    ],
    ids=["fields", "numbers", "lists"],
)
async def test_a_body_of_very_many_parts_is_refused_before_it_is_parsed(bench: Bench, more: dict[str, Any]) -> None:
    """Parsing and complaining of each would keep everybody else waiting for seconds."""
    error = await bench.refused(400, "POST", "/v1/vms", {"name": "lone", **more})
    assert f"more than {MOST_PARTS} values or {MOST_FIELDS} fields" in str(error)


async def test_two_lists_of_ten_thousand_names_are_parsed(bench: Bench) -> None:
    names = [f"host-with-a-name-{number}" for number in range(10_000)]
    error = await bench.refused(400, "POST", "/v1/campaigns", {"hosts": names, "scopes": names, "k": 1})
    assert "'k'" in str(error)


async def test_a_page_of_another_origin_changes_nothing(bench: Bench) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:3000", "http://["):
        await bench.refused(400, "POST", "/v1/clock/next", headers={"Origin": origin})
    own = await bench.client.post("/v1/clock/next", headers={"Origin": "http://127.0.0.1:16926"})
    assert own.status_code == 200


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer ", "Bearer sesam", "Basic sesame", "sesame", "Bearer é"])
async def test_without_the_token_nothing_is_answered(
    open_bench: OpenBench, anyio_backend: str, given: str | None
) -> None:
    async with open_bench(token="sesame") as bench:
        headers = {} if given is None else {b"Authorization": given.encode()}
        for method, path in (("GET", "/v1/ping"), ("POST", "/v1/vms"), ("GET", "/openapi.json"), ("GET", "/nowhere")):
            message = await bench.refused(401, method, path, headers=headers)
            assert "sesame" not in message


async def test_with_the_token_everything_is_answered(open_bench: OpenBench, anyio_backend: str) -> None:
    async with open_bench(token="sésame") as bench:
        for given in ("Bearer sésame", "bearer  sésame "):
            answer = await bench.client.get("/v1/ping", headers={b"Authorization": given.encode()})
            assert answer.status_code == 200


async def test_a_body_beyond_the_limit_is_refused(bench: Bench) -> None:
    large = b'{"name": "' + b"x" * 4 * 1024 * 1024 + b'"}'
    headers = {"Content-Type": "application/json"}

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(large), 65536):
            yield large[start : start + 65536]

    assert "4 MiB" in await bench.refused(413, "POST", "/v1/vms", content=large, headers=headers)
    assert "4 MiB" in await bench.refused(413, "POST", "/v1/vms", content=pieces(), headers=headers)


async def test_a_body_that_comes_in_pieces_is_read(bench: Bench) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"name":'
        yield b'"lone"}'

    answer = await bench.client.post("/v1/vms", content=pieces(), headers={"Content-Type": "application/json"})
    assert answer.json() == {"dry_run": False, "created": ["lone"]}


async def test_every_answer_has_its_own_request_id(bench: Bench) -> None:
    ids = {(await bench.client.get(path)).headers["X-Request-Id"] for path in ("/v1/ping", "/v1/ping", "/nowhere")}
    assert len(ids) == 3


async def test_what_is_not_there_is_said_so(bench: Bench) -> None:
    assert "/nowhere" in await bench.refused(404, "GET", "/nowhere")
    assert "PATCH" in await bench.refused(405, "PATCH", "/v1/vms")
    assert (await bench.client.patch("/v1/ping")).headers["allow"] == "GET"
    assert (await bench.client.patch("/v1/vms")).headers["allow"] == "GET, POST"
    assert (await bench.client.patch("/v1/vms/stop")).headers["allow"] == "POST"
    assert (await bench.client.patch("/v1/scale-sets/web")).headers["allow"] == "DELETE, GET, PUT"


class Broken(MemoryJournal):
    """A journal with a fault of ours in it, and one that may lose its disk."""

    lost = False

    def about(self, subject: str, limit: int) -> list[Record]:
        raise RuntimeError("a secret of the inside")

    def write(self) -> AbstractContextManager[Any]:  # type: ignore[override]  # fails before it writes
        if self.lost:
            raise JournalFault("The disk is full; free some space.")
        return super().write()


async def test_a_fault_inside_is_told_by_its_request_id_and_only_the_log_knows_more(
    open_bench: OpenBench, anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bench(journal=Broken()) as bench:
        answer = await bench.client.get("/v1/events/none")

        assert answer.status_code == 500
        assert answer.json()["error"]["kind"] == "internal"
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
        assert answer.json()["error"]["request_id"] in caplog.text
        assert "a secret of the inside" in caplog.text


async def test_a_journal_that_cannot_be_written_is_said_so(open_bench: OpenBench, anyio_backend: str) -> None:
    journal = Broken()
    async with open_bench(journal=journal) as bench:
        before = bench.plane.seq
        journal.lost = True
        answer = await bench.client.post("/v1/vms", json={"name": "lone"})
        journal.lost = False

        error = answer.json()["error"]
        assert (answer.status_code, error["kind"]) == (503, "unavailable")
        assert error["message"] == "The disk is full; free some space."
        assert bench.plane.seq == before
        assert await bench.create("lone") == ["lone"]


async def test_an_unknown_name_is_told_which_setting_and_logged_once(
    open_bench: OpenBench, anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "forewarn.web.host_names")
    async with open_bench(hosts=("control.example",), token="once") as bench:
        for _ in range(3):
            told = await bench.refused(400, "GET", "/v1/ping", headers={"Host": "balancer.example:443"})

        assert "names none of this server's names (127.0.0.1, ::1, control.example, localhost)." in told
        assert "is told so by --hosts (FOREWARN_HOSTS)" in told
        (line,) = [record.getMessage() for record in caplog.records]
        assert "The operator API refused a request whose Host header names 'balancer.example'" in line
        assert "--hosts" in line


async def test_many_guessed_host_names_do_not_fill_the_log(
    open_bench: OpenBench, anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "forewarn.web.host_names")
    async with open_bench(hosts=("control.example",), token="guess") as bench:
        for number in range(30):
            await bench.refused(400, "GET", "/v1/ping", headers={"Host": f"guess-{number}.example"})

    assert len(caplog.records) == 5
