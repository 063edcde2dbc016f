"""Documents and approvals as bytes on the wire."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from datetime import timedelta

import pytest

from forewarn import __version__
from forewarn.core.commands import DeleteVms
from forewarn.core.facts import EventApproved
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.plane.ports import Entry, JournalFault, Uncertain
from forewarn.stores.memory import MemoryJournal
from forewarn.web.faults import FaultRule
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.wire.versions import API_VERSIONS, VERSIONS_BODY
from tests.e2e.metadata_region import approval, get, metadata_region, path_of, post, request

_REQUEST_ID = re.compile(rb"x-ms-request-id: ([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12})\r\n")


def _without_id(raw: bytes) -> bytes:
    return _REQUEST_ID.sub(b"", raw, count=1)


def test_an_empty_document_is_answered_byte_for_byte_as_recorded() -> None:
    with metadata_region() as region:
        region.create("web")
        answer = region.get("web")
    assert _without_id(answer.raw) == (
        b"HTTP/1.1 200 OK\r\n"
        b"Content-Type: application/json; charset=utf-8\r\n"
        b'ETag: "1"\r\n'
        b"Server: IMDS/forewarn-" + __version__.encode() + b"\r\n"
        b"Date: Thu, 01 Jan 2026 12:00:00 GMT\r\n"
        b"Content-Length: 37\r\n"
        b"\r\n"
        b'{"DocumentIncarnation":1,"Events":[]}'
    )


def test_every_answer_has_an_id_of_its_own_in_the_shape_of_a_guid() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        raw = [guest.ask(get("web")).raw for _ in range(5)]
    ids = [found[1] for answer in raw if (found := _REQUEST_ID.search(answer))]
    assert len(set(ids)) == 5


def test_the_same_bytes_again_get_the_same_answer_until_the_region_changes() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        first = [_without_id(guest.ask(get("web")).raw) for _ in range(4)]
        assert len(set(first)) == 1
        event = region.restart("web")
        answer = guest.ask(get("web"))
        assert json.loads(answer.body)["Events"][0]["EventId"] == event
        assert guest.ask(get("web")).body == answer.body


@pytest.mark.parametrize("version", [version.date for version in API_VERSIONS])
def test_each_api_version_sees_the_event_in_its_own_way(version: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        region.restart("web")
        (event,) = json.loads(region.get("web", version=version).body)["Events"]
    expected = next(found for found in API_VERSIONS if found.date == version)
    assert tuple(event) == expected.fields
    assert event["Resources"] == ["_web" if version == "2017-03-01" else "web"]
    assert event["NotBefore"] == "Thu, 01 Jan 2026 12:15:00 GMT"


def test_the_names_of_role_instances_never_carry_the_underscore() -> None:
    with metadata_region() as region:
        region.create("site-0", spec=VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="site", role="FrontEnd"))
        region.get("site-0")
        region.restart("site-0")
        (event,) = json.loads(region.get("site-0", version="2017-03-01").body)["Events"]
    assert event["Resources"] == ["FrontEnd_IN_0"]


def test_not_before_can_be_written_as_the_old_property_table_has_it() -> None:
    with metadata_region(MetadataSettings(not_before_format="iso8601")) as region:
        region.create("web")
        region.get("web")
        region.restart("web")
        (event,) = json.loads(region.get("web").body)["Events"]
    assert event["NotBefore"] == "2026-01-01T12:15:00Z"


def test_all_vms_of_a_scope_share_a_document_and_others_see_none_of_it() -> None:
    with metadata_region() as region:
        region.create("front-0", "front-1", spec=VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front"))
        region.create("other")
        region.get("front-0")
        region.get("other")
        region.restart("front-0")
        assert region.get("front-1").body == region.get("front-0").body
        assert json.loads(region.get("front-1").body)["Events"]
        assert json.loads(region.get("other").body) == {"DocumentIncarnation": 1, "Events": []}


def test_an_event_is_seen_approved_started_and_gone() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        answer = region.post("web", approval(event.lower()))
        assert (answer.status, answer.body) == (200, b"")
        assert answer.fields["content-length"] == "0"
        started = json.loads(region.get("web").body)
        assert started["DocumentIncarnation"] == 3
        assert (started["Events"][0]["EventStatus"], started["Events"][0]["NotBefore"]) == ("Started", "")
        region.advance(timedelta(hours=1))
        assert json.loads(region.get("web").body) == {"DocumentIncarnation": 4, "Events": []}


def test_an_approval_is_in_the_journal_with_the_vm_and_the_id_of_its_answer() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        answer = region.post("web", approval(event))
        (found,) = [record for record in region.plane.journal.about(event, 100) if record.command == "Approve"][:1]
    assert (found.origin.door, found.origin.who) == ("vm", "web")
    assert found.origin.request_id == answer.fields["x-ms-request-id"]


def test_a_first_read_is_in_the_journal_with_the_vm_and_the_id_of_its_answer() -> None:
    with metadata_region() as region:
        region.create("Web")
        answer = region.get("web")
        (found,) = region.plane.journal.about("vm/web", 100)[-1:]
    assert (found.command, found.origin.door, found.origin.who) == ("Pulse", "vm", "Web")
    assert found.origin.request_id == answer.fields["x-ms-request-id"]


def test_an_approval_may_be_repeated() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        answers = [region.post("web", approval(event, event)).status for _ in range(3)]
        story = [record.fact for record in region.plane.journal.about(event, 100)]
    assert answers == [200, 200, 200]
    assert len([fact for fact in story if isinstance(fact, EventApproved)]) == 1


def test_an_unknown_event_is_refused_and_then_none_of_the_ids_takes_effect() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        before = region.plane.seq
        answer = region.post("web", approval(event, "00000000-0000-0000-0000-000000000000"))
        assert answer.status == 400
        assert "00000000-0000-0000-0000-000000000000" in json.loads(answer.body)["error"]
        assert region.plane.seq == before


def test_an_unknown_event_can_be_let_pass() -> None:
    with metadata_region(MetadataSettings(unknown_event="ok")) as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        answer = region.post("web", approval("00000000-0000-0000-0000-000000000000", event))
        assert answer.status == 200
        assert json.loads(region.get("web").body)["Events"][0]["EventStatus"] == "Started"


def test_a_vm_cannot_approve_for_another_scope() -> None:
    with metadata_region() as region:
        region.create("web")
        region.create("other")
        region.get("web")
        region.get("other")
        event = region.restart("web")
        before = region.plane.seq
        assert region.post("other", approval(event)).status == 400
        assert region.plane.seq == before


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"StartRequests":[]}', b'{"StartRequests":[{"EventId":"7"}]}', b"\xff"]
)
def test_a_malformed_approval_is_refused_with_a_sentence_and_nothing_changes(body: bytes) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        before = region.plane.seq
        answer = region.post("web", body)
        assert answer.status == 400
        assert json.loads(answer.body)["error"].startswith("Bad request. ")
        assert region.plane.seq == before


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded", "nonsense"])
def test_the_content_type_of_an_approval_does_not_matter(content_type: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        assert region.post("web", approval(event), f"Content-Type: {content_type}").status == 200


@pytest.mark.parametrize("tag", ['"1"', "1", 'W/"1"', '"0", "1"', "*"])
def test_a_reader_that_has_the_document_is_told_so(tag: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        answer = region.get("web", f"If-None-Match: {tag}")
    assert _without_id(answer.raw) == (
        b"HTTP/1.1 304 Not Modified\r\n"
        b'ETag: "1"\r\n'
        b"Server: IMDS/forewarn-" + __version__.encode() + b"\r\n"
        b"Date: Thu, 01 Jan 2026 12:00:00 GMT\r\n"
        b"\r\n"
    )


@pytest.mark.parametrize("tag", ["0", '"2"', "one", "", '"11"'])
def test_a_reader_that_has_another_document_gets_this_one(tag: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        assert region.get("web", f"If-None-Match: {tag}").status == 200


def test_a_remembered_question_with_a_tag_is_answered_by_the_state_of_now() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        guest = region.guest()
        question = get("web", 'If-None-Match: "1"')
        assert [guest.ask(question).status for _ in range(3)] == [304, 304, 304]
        region.restart("web")
        assert [guest.ask(question).status for _ in range(3)] == [200, 200, 200]


def test_an_approval_with_a_tag_is_an_approval() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        assert region.post("web", approval(event), "If-None-Match: 2").status == 200


def test_a_reenabled_scope_goes_on_from_its_number_and_shows_none_of_its_old_documents() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        first = region.restart("web", "first")
        assert first in region.get("web").body.decode()
        region.advance(timedelta(hours=25))
        assert region.get("web").incarnation() == 5  # by way of its start, and of its end
        second = region.restart("web", "second")
        document = region.get("web")
        assert document.incarnation() == 6
        assert second in document.body.decode()


def test_a_vm_that_was_deleted_is_unknown_on_its_open_connection_too() -> None:
    with metadata_region() as region:
        region.create("web", "other")
        guest = region.guest()
        assert [guest.ask(get("web")).status for _ in range(3)] == [200, 200, 200]
        region.submit(DeleteVms(("web",), "seed"))
        assert guest.ask(get("web")).status == 404


def test_the_instance_tells_the_name_that_documents_use() -> None:
    with metadata_region() as region:
        region.create("site-0", spec=VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="site", role="FrontEnd"))
        guest = region.guest()
        base = "/vm/site-0/metadata/instance"
        answer = guest.ask(request("GET", f"{base}?api-version=2021-12-13", "Metadata: true"))
        compute = json.loads(answer.body)["compute"]
        assert compute["name"] == "FrontEnd_IN_0"
        assert compute["host"]["id"].endswith("/hosts/host-0")
        leaf = f"{base}/compute/name?api-version=2021-12-13&format=text"
        answer = guest.ask(request("GET", leaf, "Metadata: true"))
        assert (answer.fields["content-type"], answer.body) == ("text/plain; charset=utf-8", b"FrontEnd_IN_0")
        assert guest.ask(request("GET", f"{base}/compute/name?api-version=2021-12-13", "Metadata: true")).status == 400
        assert guest.ask(request("GET", f"{base}/compute/x?api-version=2021-12-13", "Metadata: true")).status == 404
        assert guest.ask(request("GET", f"{base}/?api-version=2021-12-13", "Metadata: true")).status == 200


def test_the_list_of_versions_needs_no_version() -> None:
    with metadata_region() as region:
        region.create("web")
        answer = region.guest().ask(request("GET", "/vm/web/metadata/versions", "Metadata: true"))
    assert (answer.status, answer.body) == (200, VERSIONS_BODY)


class _Broken(MemoryJournal):
    """A journal whose disk can be taken away."""

    broken = False
    fault: Exception

    def _keep(self, entries: Sequence[Entry]) -> None:
        if self.broken:
            raise self.fault
        super()._keep(entries)


@pytest.mark.parametrize(
    ("fault", "status"),
    [(JournalFault("The disk is full; make room."), 503), (Uncertain("Who knows?"), 500), (ZeroDivisionError(), 500)],
)
def test_what_the_journal_cannot_keep_is_not_answered_with_success(fault: Exception, status: int) -> None:
    journal = _Broken()
    journal.fault = fault
    with metadata_region(journal=journal, expected_errors=2) as region:
        region.create("web")
        region.create("late")
        region.get("web")
        event = region.restart("web")
        journal.broken = True
        answers = [region.post("web", approval(event)), region.get("late")]
        journal.broken = False
        for answer in answers:
            assert answer.status == status
            assert ("retry-after" in answer.fields) is (status == 503)
            assert answer.fields["x-ms-request-id"] in json.loads(answer.body)["error"]
        assert json.loads(region.get("web").body)["Events"][0]["EventStatus"] == "Scheduled"


class _BrokenDice(random.Random):
    def random(self) -> float:
        raise ZeroDivisionError


def test_a_fault_of_our_own_is_owned_up_to_and_the_connection_goes_on() -> None:
    with metadata_region(dice=_BrokenDice(), expected_errors=1) as region:
        region.create("web")
        region.do(lambda: region.faults.add(FaultRule(kind="gone", share=0.5)))
        guest = region.guest()
        answer = guest.ask(get("web"))
        assert answer.status == 500
        assert answer.fields["x-ms-request-id"] in json.loads(answer.body)["error"]
        region.do(region.faults.clear)
        assert guest.ask(get("web")).status == 200


def test_a_remembered_question_enables_a_scope_that_has_lapsed() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        region.restart("web")
        guest = region.guest()
        assert [guest.ask(get("web")).incarnation() for _ in range(3)] == [2, 2, 2]
        region.advance(timedelta(hours=25))
        assert guest.ask(get("web")).incarnation() == 5


@pytest.mark.parametrize(
    "target",
    [
        "/METADATA/ScheduledEvents?api-version=2020-07-01",
        "/metadata/scheduledevents/?api-version=2020-07-01",
        "/metadata/scheduled%65vents?api-version=2020%2D07-01",
        "/metadata/scheduledevents?API-Version=2020-07-01",
        "/metadata/scheduledevents?&api-version=2020-07-01&other=1",
        "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01",
        "/vm/WEB/metadata/scheduledevents?api-version=2020-07-01",
        "/VM/we%62/metadata/scheduledevents?api-version=2020-07-01",
        "http://localhost/vm/web/metadata/scheduledevents?api-version=2020-07-01",
    ],
)
def test_many_spellings_lead_to_the_document(target: str) -> None:
    with metadata_region() as region:
        region.create("web")
        assert region.guest().ask(request("GET", target, "Metadata: True")).status == 200


def test_an_old_approval_needs_no_metadata_header() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        body = approval(region.restart("web"))
        for version, status in (("2017-08-01", 400), ("2017-03-01", 200)):
            question = request("POST", path_of("web", version), f"Content-Length: {len(body)}", body=body)
            assert region.guest().ask(question).status == status
        assert region.guest().ask(request("GET", path_of("web", "2017-03-01"))).status == 400
        assert region.guest().ask(post("web", body, version="2017-03-01")).status == 200
