"""Web pages that an operator has open: what they can reach of the metadata face at a desk, and of the control faces."""

from __future__ import annotations

import pytest

from forewarn.core.specs import Binding
from tests.e2e.metadata_region import approval, metadata_region, path_of, request

SITES = ["evil.example", "evil.example:16925", "a.b.c.", "EVIL.example", "127.0.0.1.nip.example", "[evil.example]"]
OURS = ["127.0.0.1:16925", "localhost", "LOCALHOST:1", "web.localhost", "[::1]:80", "169.254.169.254", "forewarn"]


def _asking(host: str, *lines: str) -> bytes:
    target = path_of("web")
    head = "".join(f"{line}\r\n" for line in (f"GET {target} HTTP/1.1", f"Host: {host}", "Metadata: true", *lines))
    return head.encode() + b"\r\n"


@pytest.mark.parametrize("host", SITES)
def test_a_site_whose_name_was_rebound_to_this_machine_reads_no_document(host: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        assert region.guest().ask(_asking(host)).status == 400
        assert region.guest().ask(_asking("127.0.0.1", f"Host: {host}")).status == 400


@pytest.mark.parametrize("host", OURS)
def test_this_machine_is_called_by_address_or_by_a_name_without_a_site(host: str) -> None:
    with metadata_region() as region:
        region.create("web")
        assert region.guest().ask(_asking(host)).status == 200


def test_a_page_approves_nothing_even_where_no_metadata_header_is_needed() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        body = approval(region.restart("web"))
        length = f"Content-Length: {len(body)}"
        target = path_of("web", "2017-03-01")
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            asked = request("POST", target, length, "Content-Type: text/plain", f"Origin: {origin}", body=body)
            assert region.guest().ask(asked).status == 400
        assert b"Scheduled" in region.get("web").body
        assert region.guest().ask(request("POST", target, length, body=body)).status == 200


def test_a_cors_preflight_of_a_page_is_refused() -> None:
    """The answer to a browser's question before a request with a header of its own must not invite it."""
    with metadata_region() as region:
        region.create("web")
        wish = ("Origin: https://evil.example", "Access-Control-Request-Headers: metadata")
        answer = region.guest().ask(request("OPTIONS", path_of("web"), *wish))
        assert answer.status == 400
        assert not [name for name in answer.fields if name.startswith("access-control")]


def test_where_vms_are_known_by_their_network_a_name_is_their_own_business() -> None:
    with metadata_region(host="0.0.0.0") as region:
        region.create("web", binding=Binding(address="127.0.0.1"))
        target = path_of(None)
        asked = f"GET {target} HTTP/1.1\r\nHost: metadata.example\r\nMetadata: true\r\n\r\n".encode()
        assert region.guest().ask(asked).status == 200
