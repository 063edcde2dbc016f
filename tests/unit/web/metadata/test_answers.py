"""Responses as bytes, and which of them are shared."""

from __future__ import annotations

from datetime import timedelta

from forewarn import __version__
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.web.metadata.answering.cache import DocumentCache, Signer, reply_to
from forewarn.wire.errors import THROTTLED, ErrorReply, method_not_allowed
from forewarn.wire.versions import API_VERSIONS, NEWEST
from tests.unit.web.metadata.story import NOON, Story

_SERVER = b"Server: IMDS/forewarn-" + __version__.encode() + b"\r\n"
_SEED = bytes.fromhex("0123456789abcdef")


def test_a_response_has_its_fields_in_the_recorded_order() -> None:
    reply = reply_to(THROTTLED).with_field("Connection", "close")
    assert Signer(lambda: NOON, _SEED).sign(reply) == (
        b"HTTP/1.1 429 Too Many Requests\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n" + _SERVER + b"x-ms-request-id: "
        b"01234567-89ab-4cde-8def-000000000001\r\n"
        b"Date: Thu, 01 Jan 2026 12:00:00 GMT\r\n"
        b"Connection: close\r\n"
        b"Content-Length: 34\r\n\r\n"
        b"Throttle Result: Too Many Requests"
    )


def test_a_response_to_head_says_how_long_the_body_would_be() -> None:
    reply = reply_to(method_not_allowed("GET")).without_body().with_field("Connection", "close")
    signed = Signer(lambda: NOON, _SEED).sign(reply)
    assert signed.endswith(b"Connection: close\r\nContent-Length: 58\r\n\r\n")
    assert b"Allow: GET\r\n" in signed


def test_a_response_without_a_body_has_none() -> None:
    reply = reply_to(ErrorReply(304, "", b""))
    assert reply.without_body() == reply
    assert reply.with_field("A", "b").without_body() == reply.with_field("A", "b")


def test_an_id_that_was_minted_before_is_kept() -> None:
    signer = Signer(lambda: NOON, _SEED)
    minted = signer.mint()
    reply = reply_to(THROTTLED)
    assert f"x-ms-request-id: {minted}\r\nDate: ".encode() in signer.finish(reply._replace(request_id=minted))
    assert minted.encode() not in signer.finish(reply)


def test_the_date_follows_the_clock_of_the_region() -> None:
    story = Story()
    signer = Signer(lambda: story.now, _SEED)
    dates = []
    for step in (0, 0.4, 0.59, 0.01, 3600):
        story.wait(timedelta(seconds=step))
        dates.append(signer.sign(reply_to(THROTTLED)).split(b"Date: ")[1][17:25])
    assert dates == [b"12:00:00", b"12:00:00", b"12:00:00", b"12:00:01", b"13:00:01"]


def test_documents_without_events_are_shared_by_all_scopes() -> None:
    story, cache = Story(), DocumentCache("rfc1123")
    story.create("a", "b")
    story.enable("a")
    story.enable("b")
    served = [cache.served(story.region, story.scope(name), NEWEST) for name in ("a", "b")]
    assert served[0] is served[1]
    assert cache.served(story.region, story.scope("a"), API_VERSIONS[0]) is not served[0]


def test_documents_with_events_are_made_once_for_each_scope() -> None:
    story, cache = Story(), DocumentCache("rfc1123")
    story.create("a", "b")
    for name in ("a", "b"):
        story.enable(name)
        story.restart(name, name)
    served = [cache.served(story.region, story.scope(name), NEWEST) for name in ("a", "b", "a")]
    assert served[0] is served[2]
    assert served[0].whole != served[1].whole
    assert [found.incarnation for found in served] == [2, 2, 2]


def test_a_change_of_the_document_is_a_change_of_the_answer() -> None:
    story, cache = Story(), DocumentCache("rfc1123")
    story.create("a")
    story.enable("a")
    event = story.restart("a")
    before = cache.served(story.region, story.scope("a"), NEWEST)
    story.approve(event)
    after = cache.served(story.region, story.scope("a"), NEWEST)
    assert (before.incarnation, after.incarnation) == (2, 3)
    assert b'"NotBefore":""' in after.whole.after
    assert b'ETag: "3"' in after.unchanged.before


def test_only_so_many_documents_are_kept() -> None:
    story, cache = Story(), DocumentCache("rfc1123", most=2)
    story.create("a", "b", "c")
    for name in ("a", "b", "c"):
        story.enable(name)
        story.restart(name, name)
    first, second, _ = (cache.served(story.region, story.scope(name), NEWEST) for name in ("a", "b", "c"))
    assert cache.served(story.region, story.scope("b"), NEWEST) is second
    again = cache.served(story.region, story.scope("a"), NEWEST)
    assert again == first
    assert again is not first


def test_a_cloud_service_keeps_its_names() -> None:
    story, cache = Story(), DocumentCache("iso8601")
    story.create("a", spec=VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="s", role="R"))
    story.enable("a")
    story.restart("a")
    served = cache.served(story.region, story.scope("a"), API_VERSIONS[0])
    assert b'"Resources":["R_IN_0"],"NotBefore":"2026-01-01T12:15:00Z"' in served.whole.after
