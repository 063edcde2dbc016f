"""In which order a request is checked, and what the face says at each step. Sentences that clients know are exact."""

from __future__ import annotations

import json

import pytest

from forewarn.core.specs import Binding
from forewarn.wire.versions import IMDS_VERSIONS
from tests.e2e.metadata_region import MetadataRegion, Response, metadata_region, path_of, request

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
_FORWARDED = b'{"error":"Bad request. Requests with an X-Forwarded-For header are not accepted"}'
_NO_HEADER = b'{"error":"Bad request. Required metadata header not specified"}'
_NOT_FOUND = b'{"error":"Not found"}'
_BAD_VERSION = (
    b'{"error":"Bad request. api-version is invalid or was not specified in the request. '
    b'For more information refer to aka.ms/azureimds","newest-versions":["2025-04-07","2024-07-17","2024-03-15"]}'
)


def _ask(region: MetadataRegion, verb: str, target: str, *lines: str) -> Response:
    guest = region.guest()
    guest.send(request(verb, target, *lines))
    return guest.answer(head_only=verb == "HEAD")


# Each row has all the faults of the rows below it too, so it shows that its own is found first.
@pytest.mark.parametrize(
    ("verb", "target", "lines", "status", "body"),
    [
        ("PUT", "/nowhere", ("X-Forwarded-For: 10.0.0.1",), 400, _FORWARDED),
        ("PUT", "/nowhere", (), 400, _NO_HEADER),
        ("PUT", "/nowhere?api-version=x", ("Metadata: true",), 404, _NOT_FOUND),
        ("PUT", "/vm/nobody/metadata/scheduledevents", ("Metadata: true",), 404, _NOT_FOUND),
        (
            "PUT",
            "/metadata/scheduledevents?a=1&a=2",
            ("Metadata: true",),
            405,
            b'{"error":"Method not allowed. This endpoint supports GET, POST"}',
        ),
        (
            "GET",
            "/metadata/scheduledevents?a=1&a=2",
            ("Metadata: true",),
            400,
            b'{"error":"Bad request. The query parameter a was specified more than once"}',
        ),
        ("POST", "/metadata/scheduledevents?api-version=x", ("Metadata: true",), 400, _BAD_VERSION),
        (
            "POST",
            "/metadata/scheduledevents?api-version=2020-07-01",
            ("Metadata: true",),
            400,
            b'{"error":"Bad request. The body is empty; it must name the events to start."}',
        ),
    ],
)
def test_the_first_fault_in_the_order_is_the_one_that_is_answered(
    verb: str, target: str, lines: tuple[str, ...], status: int, body: bytes
) -> None:
    with metadata_region() as region:
        region.create("web")
        before = region.plane.seq
        answer = _ask(region, verb, target, *lines)
        assert (answer.status, answer.body) == (status, body)
        assert answer.fields["content-type"] == "application/json; charset=utf-8"
        assert region.plane.seq == before


@pytest.mark.parametrize(
    "line", ["X-Forwarded-For: 1.2.3.4", "x-forwarded-for: 1.2.3.4", "X-FORWARDED-FOR:", "X-Forwarded-For: ,"]
)
def test_a_forwarded_request_is_refused_whatever_the_header_looks_like(line: str) -> None:
    with metadata_region() as region:
        region.create("web")
        assert _ask(region, "GET", path_of("web"), "Metadata: true", line).body == _FORWARDED


@pytest.mark.parametrize(("line", "status"), [
    ("Metadata: true", 200), ("metadata:TRUE", 200), ("METADATA:  True  ", 200),
    ("Metadata: false", 400), ("Metadata:", 400), ("Metadata: true, true", 400), ("X-Metadata: true", 400),
    ("Metadata: false\r\nMetadata: true", 400), ("Metadata: true\r\nMetadata: true", 200),
])  # fmt: skip
def test_the_metadata_header_must_say_true(line: str, status: int) -> None:
    with metadata_region() as region:
        region.create("web")
        assert _ask(region, "GET", path_of("web"), line).status == status


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/metadata",
        "/metadata/",
        "/metadata/latest/nothing",
        "/metadata/latest/latest/scheduledevents",
        "/metadata/vx/scheduledevents",
        "/metadata/latest",
        "/metadata/scheduledevents/x",
        "/metadata/scheduledevents//",
        "//metadata/scheduledevents",
        "/metadata//scheduledevents",
        "/metadata/../metadata/scheduledevents",
        "/metadata%2Fscheduledevents",
        "/metadata/scheduledevents%00",
        "/metadata/scheduledevents%zz",
        "/metadata/versions/x",
        "/metadata/attested/document",
        "/metadata/identity/oauth2/token",
        "/vm/web",
        "/vm//metadata/scheduledevents",
        "/vm/web%2Fmetadata/scheduledevents",
        "/vm/web/vm/web/metadata/scheduledevents",
        "/vm/web%00/metadata/scheduledevents",
        "*",
        "http://host",
    ],
)
def test_a_path_that_leads_nowhere_is_not_found(target: str) -> None:
    with metadata_region() as region:
        region.create("web")
        separator = "&" if "?" in target else "?"
        target = target if target == "*" else f"{target}{separator}api-version=2020-07-01"
        answer = _ask(region, "OPTIONS" if target == "*" else "GET", target, "Metadata: true")
    assert (answer.status, answer.body) == (404, _NOT_FOUND)


@pytest.mark.parametrize("version", ["latest", "%7Blatest%7D", "v1", "V2", "v1.0", "2017-03-01", "2020-07-01"])
@pytest.mark.parametrize("path", ["scheduledevents", "scheduledevents/", "instance/compute", "instance"])
def test_a_version_in_the_path_is_no_version(version: str, path: str) -> None:
    """A preview that ended in 2017 had it there."""
    with metadata_region() as region:
        region.create("web")
        answer = _ask(region, "GET", f"/vm/web/metadata/{version}/{path}?api-version=2020-07-01", "Metadata: true")
        unknown = _ask(region, "GET", f"/vm/nobody/metadata/{version}/{path}", "Metadata: true")
    assert (answer.status, answer.body) == (400, _BAD_VERSION)
    assert unknown.status == 404


@pytest.mark.parametrize(
    ("vms", "path", "hint"),
    [
        ((), EVENTS, "there is no VM; make one with: forewarn vm create web-0"),
        (("web-0", "db"), EVENTS, f"try /vm/{{first}}{EVENTS} (VMs: {{all}})"),
        (("web-0", "db"), f"/vm/wbe-0{EVENTS}", f"try /vm/web-0{EVENTS} (VMs: web-0, ...)"),
        (("web-0",), "/metadata/nothing", f"try /vm/web-0{EVENTS} (VMs: web-0)"),
        (("web-0",), "/vm/%0d%0aX:%20y/metadata", f"try /vm/web-0{EVENTS} (VMs: web-0)"),
    ],
)
def test_on_loopback_a_404_tells_what_to_try_in_a_header_of_its_own(vms: tuple[str, ...], path: str, hint: str) -> None:
    with metadata_region() as region:
        if vms:
            region.create(*vms)
        names = [vm.name for vm in region.plane.region.vms.values()]
        answer = _ask(region, "GET", path, "Metadata: true")
        found = _ask(region, "GET", f"/vm/web-0{EVENTS}", "Metadata: true") if vms else answer
    assert (answer.status, answer.body) == (404, _NOT_FOUND)
    assert answer.fields["x-forewarn-hint"] == hint.format(first=(names or [""])[0], all=", ".join(names))
    assert ("x-forewarn-hint" in found.fields) is not bool(vms)


def test_a_vm_that_is_known_by_its_address_is_told_to_leave_the_name_out() -> None:
    with metadata_region() as region:
        region.create("web", binding=Binding(address="127.0.0.1"))
        answer = _ask(region, "GET", f"/vm/web{EVENTS}", "Metadata: true")
    assert answer.fields["x-forewarn-hint"] == f"this address is web; ask without /vm/NAME: {EVENTS}"


def test_beyond_loopback_nothing_is_told() -> None:
    with metadata_region(host="0.0.0.0") as region:
        region.create("web-0", binding=Binding(address="127.0.0.2"))
        asked = [
            region.guest(source=source).ask(request("GET", path, "Metadata: true"))
            for source in ("127.0.0.1", "127.0.0.2")
            for path in (f"/vm/web-0{EVENTS}", "/metadata/nothing")
        ]
    assert {(answer.status, "x-forewarn-hint" in answer.fields) for answer in asked} == {(404, False)}


@pytest.mark.parametrize("verb", ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/metadata/scheduledevents?api-version=2020-07-01", "GET, POST"),
        ("/metadata/instance?api-version=2021-12-13", "GET"),
        ("/metadata/versions", "GET"),
    ],
)
def test_other_verbs_are_not_allowed(verb: str, path: str, allowed: str) -> None:
    with metadata_region() as region:
        region.create("web")
        answer = _ask(region, verb, path, "Metadata: true")
    assert (answer.status, answer.fields["allow"]) == (405, allowed)


def test_instance_data_cannot_be_posted() -> None:
    with metadata_region() as region:
        region.create("web")
        assert _ask(region, "POST", "/metadata/instance?api-version=2021-12-13", "Metadata: true").status == 405


def test_a_head_request_gets_no_body_and_the_connection_goes_on() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(request("HEAD", path_of("web"), "Metadata: true"))
        assert guest.answer(head_only=True).status == 405
        assert guest.ask(request("GET", path_of("web"), "Metadata: true")).status == 200


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?",
        "?api-version",
        "?api-version=",
        "?api-version=latest",
        "?api-version={latest}",
        "?api-version=2021-12-13",
        "?api-version=2020-07-02",
        "?api-version=%202020-07-01",
        "?api-version=2020-07-01%00",
        "?version=2020-07-01",
        "?api-version=2020-07-01#x",
    ],
)
def test_a_missing_or_unknown_version_names_the_newest_three(query: str) -> None:
    with metadata_region() as region:
        region.create("web")
        answer = _ask(region, "GET", f"/metadata/scheduledevents{query}", "Metadata: true")
    assert (answer.status, answer.body) == (400, _BAD_VERSION)


def test_the_instance_has_a_list_of_versions_of_its_own() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        for version in IMDS_VERSIONS:
            question = request("GET", f"/metadata/instance?api-version={version}", "Metadata: true")
            assert json.loads(guest.ask(question).body)["compute"]["name"] == "web"
        answer = guest.ask(request("GET", "/metadata/instance?api-version=2020-07-01", "Metadata: true"))
    assert (answer.status, answer.body) == (400, _BAD_VERSION)


@pytest.mark.parametrize(
    "query",
    [
        "api-version=2020-07-01&api-version=2020-07-01",
        "api-version=2020-07-01&API-VERSION=2019-08-01",
        "api-version=2020-07-01&x=1&x=2",
        "api-version=2020-07-01&api%2Dversion=2020-07-01",
    ],
)
def test_a_parameter_that_is_given_twice_is_refused(query: str) -> None:
    with metadata_region() as region:
        region.create("web")
        answer = _ask(region, "GET", f"/metadata/scheduledevents?{query}", "Metadata: true")
    assert answer.status == 400
    assert b"more than once" in answer.body
