"""Which encryption the https face agrees to: only such that proves that nothing was changed on the way."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import PATIENCE_SECONDS, ServerProgram

TAKEN = ("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305")
REFUSED = (
    "ECDHE-ECDSA-AES256-SHA384",
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-CCM8:ECDHE-ECDSA-CAMELLIA256-SHA384",
    "AES256-GCM-SHA384:AES128-SHA:DHE-RSA-AES256-SHA256",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProgram]:
    with ServerProgram.start(tmp_path_factory.mktemp("suites") / "data", "--clock", "virtual") as started:
        yield started


def _agreed(server: ServerProgram, suites: str, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> str:
    """The suite that client and server agree on, by a client that offers only these."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(server.data / "tls" / "ca.pem")
    context.minimum_version = context.maximum_version = version
    context.set_ciphers(f"{suites}:@SECLEVEL=0")
    where = urlsplit(server.resource_manager)
    with (
        socket.create_connection((where.hostname or "", where.port or 0), timeout=PATIENCE_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=where.hostname) as wrapped,
    ):
        found = wrapped.cipher()
    assert found is not None
    return found[0]


@pytest.mark.parametrize("suite", TAKEN)
def test_suites_that_authenticate_what_they_encrypt_are_taken(server: ServerProgram, suite: str) -> None:
    assert _agreed(server, suite) == suite


@pytest.mark.parametrize("suites", REFUSED)
def test_cipher_suites_without_authenticated_encryption_are_refused(server: ServerProgram, suites: str) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        _agreed(server, suites)


def test_the_newest_version_is_spoken(server: ServerProgram) -> None:
    assert _agreed(server, "ALL", ssl.TLSVersion.TLSv1_3).startswith("TLS_")
