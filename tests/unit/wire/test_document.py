from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.terms import Document, EventSource, EventStatus, EventType, ScheduledEvent
from forewarn.wire.document import decode_document, encode_document
from forewarn.wire.json_bytes import WireError
from forewarn.wire.versions import API_VERSIONS, NEWEST, ApiVersion, find

NOT_BEFORE = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)
ID = "6B1F3E0A-52C4-4D8B-9A77-0F2D61C3B5E1"
EVENT = ScheduledEvent(
    event_id=ID,
    status=EventStatus.SCHEDULED,
    type=EventType.FREEZE,
    resources=("web-0",),
    not_before=NOT_BEFORE,
    description="Host server is undergoing maintenance.",
    source=EventSource.PLATFORM,
    duration_seconds=9,
)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
instants = st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(microsecond=0))
scheduled = st.builds(
    ScheduledEvent,
    event_id=st.uuids().map(lambda guid: str(guid).upper()),
    status=st.just(EventStatus.SCHEDULED),
    type=st.sampled_from(EventType),
    resources=st.lists(names, max_size=4).map(tuple),
    not_before=instants,
    description=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    source=st.sampled_from(EventSource),
    duration_seconds=st.integers(-1, 10_000),
)
started = scheduled.map(lambda event: replace(event, status=EventStatus.STARTED, not_before=None))
documents = st.builds(
    Document, incarnation=st.integers(0, 10**9), events=st.lists(scheduled | started, max_size=5).map(tuple)
)
versions = st.sampled_from(API_VERSIONS)


def decode(text: str) -> Document:
    document = decode_document(text.encode())
    assert document is not None
    return document


def with_fields(**fields: object) -> str:
    return json.dumps({"DocumentIncarnation": 1, "Events": [{"EventId": ID} | fields]})


@given(documents)
def test_the_newest_version_loses_nothing(document: Document) -> None:
    assert decode_document(encode_document(document, NEWEST)) == document


@given(documents)
def test_the_iso_form_loses_nothing_either(document: Document) -> None:
    assert decode_document(encode_document(document, NEWEST, not_before_format="iso8601")) == document


@given(documents, versions)
def test_an_older_version_loses_exactly_what_it_does_not_show(document: Document, version: ApiVersion) -> None:
    def seen(event: ScheduledEvent) -> ScheduledEvent:
        return replace(
            event,
            resources=tuple("_" + name for name in event.resources) if version.underscore else event.resources,
            description=event.description if "Description" in version.fields else None,
            source=event.source if "EventSource" in version.fields else None,
            duration_seconds=event.duration_seconds if "DurationInSeconds" in version.fields else None,
        )

    expected = tuple(seen(event) for event in document.events if event.type in version.types)

    assert decode_document(encode_document(document, version)) == Document(document.incarnation, expected)


@given(documents, versions)
def test_bytes_are_compact_and_their_keys_in_wire_order(document: Document, version: ApiVersion) -> None:
    encoded = encode_document(document, version).decode()
    parsed = json.loads(encoded)

    assert list(parsed) == ["DocumentIncarnation", "Events"]
    assert all(tuple(event) == version.fields for event in parsed["Events"])
    assert encoded == json.dumps(parsed, separators=(",", ":"), ensure_ascii=False)


def test_names_outside_ascii_are_utf_8() -> None:
    encoded = encode_document(Document(1, (replace(EVENT, resources=("größe-0",)),)), NEWEST)

    assert "größe-0".encode() in encoded


def test_a_role_instance_never_carries_the_underscore() -> None:
    first = find("2017-03-01")
    assert first is not None
    document = Document(1, (replace(EVENT, resources=("FrontEnd_IN_0",)),))

    assert b'["FrontEnd_IN_0"]' in encode_document(document, first, role_instances=True)
    assert b'["_FrontEnd_IN_0"]' in encode_document(document, first)


def test_a_started_event_has_a_blank_not_before_even_if_it_once_had_one() -> None:
    document = Document(1, (replace(EVENT, status=EventStatus.STARTED),))

    assert b'"NotBefore":"",' in encode_document(document, NEWEST)
    assert b'"NotBefore":"",' in encode_document(document, NEWEST, not_before_format="iso8601")


def test_the_iso_form_can_be_asked_for() -> None:
    assert b'"NotBefore":"2026-03-02T09:15:00Z"' in encode_document(
        Document(1, (EVENT,)), NEWEST, not_before_format="iso8601"
    )


def test_an_event_id_is_written_in_upper_case() -> None:
    encoded = encode_document(Document(1, (replace(EVENT, event_id=ID.lower()),)), NEWEST)

    assert ID.encode() in encoded


def test_a_field_without_a_value_is_absent() -> None:
    untold = replace(EVENT, description=None, source=None, duration_seconds=None)

    event = json.loads(encode_document(Document(1, (untold,)), NEWEST))["Events"][0]

    assert list(event) == ["EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"]


@pytest.mark.parametrize("body", [b"", b" \r\n"])
def test_an_empty_body_is_no_information(body: bytes) -> None:
    assert decode_document(body) is None


@pytest.mark.parametrize("incarnation", ["5", '"5"', "5.0", '" 5 "', "5e0"])
def test_an_incarnation_may_be_spelled_in_several_ways(incarnation: str) -> None:
    assert decode(f'{{"DocumentIncarnation":{incarnation},"Events":[]}}') == Document(5)


def test_missing_parts_of_a_document_are_filled_in() -> None:
    assert decode('{"DocumentIncarnation":3}') == Document(3)
    assert decode('{"DocumentIncarnation":3,"Events":null}') == Document(3)
    assert decode('{"Events":[]}') == Document(0)


def test_an_event_needs_no_more_than_its_id() -> None:
    assert decode(with_fields()).events == (ScheduledEvent(ID, "", "", (), None),)


def test_unknown_fields_types_and_states_are_kept_or_passed_over() -> None:
    event = decode(with_fields(EventType="Reimage", EventStatus="Paused", Colour="blue", Resources=["a"])).events[0]

    assert (event.type, event.status, event.resources) == ("Reimage", "Paused", ("a",))


def test_ids_and_names_keep_their_spelling() -> None:
    body = with_fields(EventId=ID.lower(), Resources=["_test-vmss_1"])

    event = decode(body).events[0]

    assert (event.event_id, event.resources) == (ID.lower(), ("_test-vmss_1",))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(9, 9), (9.0, 9), ("9", 9), (-1, -1), ("-1", -1), (9.5, None), ("soon", None), (None, None), (True, None)],
)
def test_a_duration_is_a_whole_number_or_unknown(value: object, expected: int | None) -> None:
    assert decode(with_fields(DurationInSeconds=value)).events[0].duration_seconds == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Mon, 02 Mar 2026 09:15:00 GMT", NOT_BEFORE),
        ("Sat, 02 Mar 2026 09:15:00 GMT", NOT_BEFORE),
        ("2026-03-02T09:15:00Z", NOT_BEFORE),
        ("", None),
        ("shortly", None),
        (None, None),
        (1772442900, None),
    ],
)
def test_a_not_before_is_an_instant_or_unknown(value: object, expected: datetime | None) -> None:
    assert decode(with_fields(NotBefore=value)).events[0].not_before == expected


def test_a_pretty_document_in_another_order_is_the_same_document() -> None:
    body = json.loads(encode_document(Document(7, (EVENT,)), NEWEST))
    pretty = json.dumps(body, indent=4, sort_keys=True)

    assert decode("\ufeff" + pretty + "\n") == Document(7, (EVENT,))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"<html></html>", "not JSON"),
        (b"{", "not JSON"),
        (b'{"DocumentIncarnation":NaN}', "not JSON"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"DocumentIncarnation":' + b"1" * 5000 + b"}", "too long"),
        (b"[]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'{"error":"Bad request"}', "neither DocumentIncarnation nor Events"),
        (b'{"DocumentIncarnation":1.5}', "whole number"),
        (b'{"DocumentIncarnation":1e999}', "whole number"),
        (b'{"DocumentIncarnation":"one"}', "whole number"),
        (b'{"DocumentIncarnation":true}', "whole number"),
        (b'{"Events":{}}', "Events must be a list"),
        (b'{"Events":[1]}', r"Events\[0\] must be an object"),
        (b'{"Events":[{"EventId":"x"},{"EventType":"Freeze"}]}', r"Events\[1\] has no EventId"),
        (b'{"Events":[{"EventId":7}]}', r"Events\[0\] has no EventId"),
        (b'{"Events":[{"EventId":"x","Resources":"web-0"}]}', r"Events\[0\].Resources must be a list of names"),
        (b'{"Events":[{"EventId":"x","Resources":["a",1]}]}', r"Events\[0\].Resources must be a list of names"),
    ],
)
def test_what_is_no_document_is_refused_with_a_sentence(body: bytes, sentence: str) -> None:
    with pytest.raises(WireError, match=sentence):
        decode_document(body)


def test_a_lone_surrogate_does_not_travel_further() -> None:
    event = decode(with_fields(Description="\ud800!")).events[0]

    assert event.description == "?!"
    assert b'"?!"' in encode_document(Document(1, (replace(EVENT, description="\ud800!"),)), NEWEST)


@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_fail_in_another_way(body: bytes) -> None:
    with suppress(WireError):
        decode_document(body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["EventId", "EventStatus", "Resources", "NotBefore", "Events", "DurationInSeconds"]), inner
        )
    ),
    max_leaves=10,
)


@given(json_values, json_values)
def test_no_json_makes_the_reader_fail_in_another_way(incarnation: object, events: object) -> None:
    body = json.dumps({"DocumentIncarnation": incarnation, "Events": events}).encode()
    with suppress(WireError):
        document = decode_document(body)
        assert document is not None
        assert encode_document(document, NEWEST)
