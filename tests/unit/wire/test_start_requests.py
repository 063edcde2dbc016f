from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.wire.json_bytes import WireError
from forewarn.wire.start_requests import decode_start_requests, encode_start_requests

ONE = "762D06A2-8289-469B-AB27-4D26C9C745B3"
TWO = "28512AF7-C957-4500-9BC4-842D6FB531E4"


def body(*requests: object, **others: object) -> bytes:
    return json.dumps({"StartRequests": requests} | others).encode()


def test_an_approval_is_written_as_the_samples_write_it() -> None:
    assert encode_start_requests([ONE]) == b'{"StartRequests":[{"EventId":"' + ONE.encode() + b'"}]}'


@given(st.lists(st.uuids(), min_size=1, max_size=10, unique=True))
def test_what_is_written_is_read_back_in_upper_case(guids: list[UUID]) -> None:
    ids = [str(guid) for guid in guids]

    assert decode_start_requests(encode_start_requests(ids)) == tuple(event_id.upper() for event_id in ids)


def test_an_id_counts_once_whatever_its_case() -> None:
    repeated = body({"EventId": ONE}, {"EventId": TWO.lower()}, {"EventId": ONE.lower()}, {"EventId": TWO})

    assert decode_start_requests(repeated) == (ONE, TWO)


@pytest.mark.parametrize("incarnation", [5, "5", 0, -1, None, "stale", [], {"a": 1}, 1.5])
def test_a_document_incarnation_is_ignored_whatever_it_is(incarnation: object) -> None:
    assert decode_start_requests(body({"EventId": ONE}, DocumentIncarnation=incarnation)) == (ONE,)


def test_what_else_stands_in_the_body_is_ignored() -> None:
    assert decode_start_requests(body({"EventId": ONE, "Reason": "ready"}, Other=True)) == (ONE,)


def test_a_byte_order_mark_is_ignored() -> None:
    assert decode_start_requests(b"\xef\xbb\xbf" + body({"EventId": ONE})) == (ONE,)


@pytest.mark.parametrize(
    ("malformed", "sentence"),
    [
        (b"", "The body is empty; it must name the events to start."),
        (b"  \n", "The body is empty; it must name the events to start."),
        (b"\xff", "The body is not UTF-8 (byte 0)."),
        (b'{"a":\xc3}', "The body is not UTF-8 (byte 5)."),
        (b"StartRequests=1", "The body is not JSON (line 1, column 1)."),
        (b'{"StartRequests":[', "The body is not JSON (line 1, column 19)."),
        (b'{"StartRequests":[Infinity]}', "The body is not JSON: it has the number Infinity."),
        (b'{"StartRequests":' + b"[" * 60_000, "The body is nested too deeply."),
        (b'{"a":' * 10_000, "The body is nested too deeply."),
        (b"9" * 5_000, "The body has a number that is too long."),
        (b"[]", "The body must be a JSON object."),
        (b'"StartRequests"', "The body must be a JSON object."),
        (b"{}", "The body has no StartRequests."),
        (b'{"startrequests":[]}', "The body has no StartRequests."),
        (b'{"StartRequests":null}', "StartRequests must be a list."),
        (b'{"StartRequests":{"EventId":"x"}}', "StartRequests must be a list."),
        (b'{"StartRequests":[]}', "StartRequests is empty; it must name the events to start."),
        (body({"EventId": ONE}, ONE), "StartRequests[1] must be an object."),
        (body(None), "StartRequests[0] must be an object."),
        (body({}), "StartRequests[0] has no EventId."),
        (body({"EventID": ONE}), "StartRequests[0] has no EventId."),
        (body({"EventId": None}), "StartRequests[0].EventId must be a string."),
        (body({"EventId": 7}), "StartRequests[0].EventId must be a string."),
        (body({"EventId": ""}), "StartRequests[0].EventId is not a GUID."),
        (body({"EventId": ONE + "\n"}), "StartRequests[0].EventId is not a GUID."),
        (body({"EventId": ONE.replace("-", "")}), "StartRequests[0].EventId is not a GUID."),
        (body({"EventId": "{" + ONE + "}"}), "StartRequests[0].EventId is not a GUID."),
        (body({"EventId": ONE}, {"EventId": "G" + ONE[1:]}), "StartRequests[1].EventId is not a GUID."),
    ],
)
def test_a_malformed_body_is_refused_with_its_own_sentence(malformed: bytes, sentence: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_start_requests(malformed)

    assert str(caught.value) == sentence


@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_fail_in_another_way(malformed: bytes) -> None:
    with pytest.raises(WireError, match=r"\.$"):
        decode_start_requests(malformed)
