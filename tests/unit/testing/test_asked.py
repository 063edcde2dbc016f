"""The timeline of a failed test tells what the program asked: one test for each mistake that a program can make."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from forewarn.guest import Client
from forewarn.testing import Region, VmHandle, open_region

_PATH = "/metadata/scheduledevents?api-version=2020-07-01"


@pytest.fixture
def region() -> Iterator[Region]:
    with open_region(start=datetime(2026, 1, 1, 12, tzinfo=UTC)) as opened:
        yield opened


def _ask(
    vm: VmHandle, times: int = 1, verb: str = "GET", path: str = _PATH, body: str = "", *, header: bool = True
) -> None:
    """As a program in any language would, on one connection."""
    parts = urlsplit(vm.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        for _ in range(times):
            connection.request(verb, parts.path + path, body, {"Metadata": "true"} if header else {})
            connection.getresponse().read()
    finally:
        connection.close()


def _lines(region: Region) -> list[str]:
    """What is told of requests: who, and what."""
    return [f"{each.by}: {each.text}".removeprefix(": ") for each in region.timeline() if each.order]


def test_the_same_question_again_is_one_line_with_the_last_incarnation(region: Region) -> None:
    vm = region.vm("web-0")
    _ask(vm, 3)
    region.restart("web-0")
    _ask(vm, 37)

    assert _lines(region) == [
        "vm web-0: GET 200 ×3, last saw incarnation 1",
        "vm web-0: GET 200 ×37, last saw incarnation 2",
    ]
    texts = [moment.text for moment in region.timeline()]
    assert "scheduled" in texts[texts.index("GET 200 ×37, last saw incarnation 2") - 1]


def test_a_missing_header_is_told_as_such(region: Region) -> None:
    _ask(region.vm("web-0"), 5, header=False)

    assert _lines(region) == ["vm web-0: GET 400 ×5: Required metadata header not specified"]


def test_a_wrong_api_version_is_told_as_such(region: Region) -> None:
    _ask(region.vm("web-0"), 5, path="/metadata/scheduledevents?api-version=2021-01-01")

    (line,) = _lines(region)
    assert line.startswith("vm web-0: GET 400 ×5: api-version is invalid or was not specified")


def test_a_misspelled_approval_is_told_as_such(region: Region) -> None:
    vm = region.vm("web-0")
    event = region.restart("web-0")
    _ask(vm, verb="POST", body=f'{{"StartRequests": [{{"EventID": "{event.id}"}}]}}')

    assert _lines(region) == ["vm web-0: POST 400: StartRequests[0] has no EventId."]


def test_answers_that_a_fault_spoiled_are_told_as_such(region: Region) -> None:
    vm = region.vm("web-0")
    region.fault(vm, "error", times=2)
    _ask(vm, 3)

    assert _lines(region) == [
        "vm web-0: fault error spoiled 2 answers (GET 500)",
        "vm web-0: GET 200, last saw incarnation 1",
    ]


def test_a_dropped_connection_is_told_too(region: Region) -> None:
    vm = region.vm("web-0")
    region.fault(vm, "drop", times=1)
    with pytest.raises(http.client.RemoteDisconnected):
        _ask(vm)

    assert _lines(region) == ["vm web-0: fault drop spoiled 1 answer (GET dropped)"]


def test_vms_that_never_asked_are_named(region: Region) -> None:
    region.vm("web-0")
    region.vm("web-1").document()  # the test itself has read: that is no silence
    for number in range(2, 9):
        region.vm(f"web-{number}")

    assert _lines(region) == ["web-0, web-2, web-3, web-4, web-5 and 3 more never asked"]
    assert "web-0, web-2" in region.story()


def test_who_names_no_vm_is_a_stranger_with_the_path_that_was_asked(region: Region) -> None:
    region.vm("web-0").document()
    region.vm("web-1").document()
    parts = urlsplit(region.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("GET", "/vm/wbe-0" + _PATH, headers={"Metadata": "true"})
    connection.getresponse().read()
    connection.close()

    assert _lines(region) == ["stranger: GET /vm/wbe-0/metadata/scheduledevents?api-version=2020-07-01 404: Not found"]


def test_a_reader_that_waits_is_told_when_its_answer_came(region: Region) -> None:
    vm = region.vm("web-0")
    with Client(vm.url) as client:
        client.document()
        event = region.restart("web-0")
        client.approve(event.id)

    assert _lines(region) == ["vm web-0: GET 200, last saw incarnation 1", "vm web-0: POST 200"]


def test_notes_and_requests_keep_their_order_though_nothing_happened_between(region: Region) -> None:
    vm = region.vm("web-0")
    region.note("before")
    _ask(vm)
    region.note("after")

    assert _lines(region) == ["test: before", "vm web-0: GET 200, last saw incarnation 1", "test: after"]
