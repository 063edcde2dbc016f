"""What is too large, too long, or no request at all: refused, and nothing of it is taken for something else."""

from __future__ import annotations

import pytest

from tests.e2e.metadata_region import approval, get, metadata_region, path_of, post, request


def test_a_body_of_64_kib_is_taken_and_one_more_byte_is_too_large() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        assert guest.ask(post("web", b" " * 65536)).status == 400
        guest.send(post("web", b" " * 65537))
        assert guest.last_answer() == (413, "close")


def test_too_large_a_body_is_refused_before_it_comes() -> None:
    with metadata_region() as region:
        region.create("web")
        for line in ("Content-Length: 65537", "Content-Length: 9223372036854775807"):
            guest = region.guest()
            guest.send(request("POST", path_of("web"), "Metadata: true", line, "Expect: 100-continue"))
            assert guest.last_answer() == (413, "close")


def test_too_large_a_body_in_chunks_is_refused_when_it_becomes_too_large() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(request("POST", path_of("web"), "Metadata: true", "Transfer-Encoding: chunked"))
        guest.send(b"8000\r\n" + b" " * 0x8000 + b"\r\n" + b"8001\r\n" + b" " * 0x8001 + b"\r\n")
        assert guest.last_answer() == (413, "close")


def test_a_body_that_grows_without_content_is_refused() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(request("POST", path_of("web"), "Metadata: true", "Transfer-Encoding: chunked"))
        guest.send(b"1;" + b"x" * 600_000)
        assert guest.last_answer() == (413, "close")


def test_the_size_of_a_body_is_the_last_thing_that_is_checked() -> None:
    with metadata_region() as region:
        region.create("web")
        for target, status in (("/nowhere", 404), ("/metadata/scheduledevents", 400), ("/metadata/versions", 405)):
            guest = region.guest()
            guest.send(request("POST", target, "Metadata: true", "Content-Length: 70000"))
            assert guest.last_answer() == (status, "close")


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET / HTTP/2.0\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"FETCH / HTTP/1.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\nHost: a\n\n",
        b"GET / HTTP/1.1\r\nMeta data: true\r\n\r\n",
        b"GET / HTTP/1.1\r\nMetadata : true\r\n\r\n",
        b"GET / HTTP/1.1\r\n: true\r\n\r\n",
        b"GET / HTTP/1.1\r\nMetadata: tr\x00ue\r\n\r\n",
        b"GET / HTTP/1.1\r\nMetadata: true\r\n folded\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0x3\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_ends_the_connection(data: bytes) -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(data + get("web"))
        assert guest.last_answer() == (400, "close")


@pytest.mark.parametrize(
    "data",
    [
        get("web").replace(b"Host: 169.254.169.254\r\n", b""),
        get("web", "Host: 169.254.169.254"),
        get("web", "Host: other"),
        post("web", approval("x")).replace(b"Host: 169.254.169.254\r\n", b""),
    ],
)
def test_http_1_1_needs_one_host(data: bytes) -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        refused = guest.ask(data)
        assert (refused.status, refused.body) == (
            400,
            b'{"error":"Bad request. A request of HTTP/1.1 has one Host header"}',
        )
        assert guest.ask(get("web")).body == b'{"DocumentIncarnation":1,"Events":[]}'


def test_http_1_0_needs_no_host() -> None:
    with metadata_region() as region:
        region.create("web")
        old = get("web").replace(b"Host: 169.254.169.254\r\n", b"").replace(b"HTTP/1.1", b"HTTP/1.0")
        assert region.guest().ask(old).status == 200


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "deflate", "br", "identity, gzip", "x"])
def test_a_body_that_is_not_sent_as_it_is_is_refused_as_such(coding: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        refused = region.post("web", approval(event), f"Content-Encoding: {coding}")
        still = region.get("web").body
        plain = region.post("web", approval(event), "Content-Encoding: identity")
    assert (refused.status, refused.fields["accept-encoding"]) == (415, "identity")
    assert b'"EventStatus":"Scheduled"' in still
    assert plain.status == 200


def test_what_cannot_be_expected_is_refused() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(get("web", "Expect: 200-ok"))
        assert guest.last_answer() == (417, "close")


def test_requests_before_a_bad_one_are_answered_first() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(get("web") + get("web") + b"nonsense\r\n\r\n" + get("web"))
        assert [guest.answer().status, guest.answer().status] == [200, 200]
        assert guest.last_answer() == (400, "close")


@pytest.mark.parametrize(
    ("question", "status"),
    [
        (request("GET", "/" + "x" * 9000, "Metadata: true"), 414),
        (request("GET", "/", *(f"X-{number}: 1" for number in range(200))), 431),
        (request("GET", "/", "X: " + "y" * 20_000), 431),
        (request("GET", "/", "X" * 20_000 + ": y"), 431),
        (request("GET", "/", "X: " + "y" * 600_000), 431),
        (
            request("POST", "/", "Transfer-Encoding: chunked")
            + b"0\r\n"
            + b"".join(b"X-%d: 1\r\n" % number for number in range(200)),
            431,
        ),
    ],
)
def test_a_flood_in_the_head_is_refused(question: bytes, status: int) -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(question)
        assert guest.last_answer() == (status, "close")


def test_a_head_that_never_ends_is_refused_at_its_limit() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(20):
            guest.send(b"y" * 1000)
        assert guest.last_answer() == (431, "close")


def test_a_head_as_large_as_allowed_is_taken() -> None:
    with metadata_region() as region:
        region.create("web")
        lines = [f"X-{number}: {'y' * 150}" for number in range(90)]
        assert region.get("web", *lines).status == 200


@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
def test_an_offer_to_change_the_protocol_is_passed_over(protocol: str) -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(get("web", f"Upgrade: {protocol}", "Connection: upgrade") + get("web") + get("web"))
        assert [guest.answer().status for _ in range(3)] == [200, 200, 200]


def test_many_such_offers_in_one_go_are_all_passed_over() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        count = 2000
        guest.send(get("web", "Upgrade: h2c", "Connection: upgrade") * count)
        assert {guest.answer().status for _ in range(count)} == {200}


@pytest.mark.parametrize("hidden", [b"", get("other")])
def test_a_body_behind_such_an_offer_is_a_body_and_no_request(hidden: bytes) -> None:
    with metadata_region() as region:
        region.create("web", "other")
        region.get("web")
        body = approval(region.restart("web"))[:-1] + b', "x": "' + hidden.replace(b"\r\n", b" ") + b'"}'
        guest = region.guest()
        question = post("web", body, "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAA")
        guest.send(question + get("web"))
        assert [guest.answer().status for _ in range(2)] == [200, 200]
        guest.send(post("web", hidden, "Upgrade: h2c", "Connection: Upgrade") + get("web"))
        assert [guest.answer().status for _ in range(2)] == [400, 200]


def test_a_tunnel_is_not_opened() -> None:
    with metadata_region() as region:
        region.create("web")
        guest = region.guest()
        guest.send(request("CONNECT", "169.254.169.254:80", "Metadata: true") + get("web"))
        assert guest.last_answer() == (404, "close")
