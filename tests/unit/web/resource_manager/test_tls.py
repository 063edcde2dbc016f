"""The local authority and the certificate it signs."""

from __future__ import annotations

import contextlib
import shutil
import ssl
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest
from cryptography import x509

from forewarn.plane.clock import wall_time
from forewarn.web.resource_manager.login.tls import TlsFiles, prepare

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def handshake(files: TlsFiles, host: str) -> None:
    """A client that trusts the authority meets the server, in memory."""
    there = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    there.load_cert_chain(files.certificate, files.key)
    here = ssl.create_default_context(cafile=str(files.authority))
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = here.wrap_bio(down, up, server_hostname=host)
    server = there.wrap_bio(up, down, server_side=True)
    for side in (client, server, client, server):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_a_client_that_trusts_the_authority_trusts_the_server(tmp_path: Path, host: str) -> None:
    handshake(prepare(tmp_path / "tls", (), wall_time()), host)


def test_no_other_name_is_trusted(tmp_path: Path) -> None:
    files = prepare(tmp_path, (), wall_time())

    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(files, "example.org")


def test_keys_are_for_their_owner(tmp_path: Path) -> None:
    prepare(tmp_path / "tls", (), NOW)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "tls").iterdir()}
    assert modes["ca-key.pem"] == modes["server-key.pem"] == 0o600
    assert set(modes) == {"ca.pem", "ca-key.pem", "lock", "server.pem", "server-key.pem"}
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700


def test_certificates_are_kept(tmp_path: Path) -> None:
    before = contents(prepare(tmp_path, ("127.0.0.1",), NOW))

    assert contents(prepare(tmp_path, (), NOW + timedelta(days=300))) == before


def contents(files: TlsFiles) -> tuple[bytes, bytes, bytes]:
    return files.authority.read_bytes(), files.certificate.read_bytes(), files.key.read_bytes()


def test_a_certificate_near_its_end_is_renewed_by_the_same_authority(tmp_path: Path) -> None:
    authority, certificate, key = contents(prepare(tmp_path, (), NOW))

    renewed = contents(prepare(tmp_path, (), NOW + timedelta(days=380)))

    assert renewed[0] == authority
    assert renewed[1] != certificate
    assert renewed[2] != key


def test_an_authority_near_its_end_is_replaced(tmp_path: Path) -> None:
    authority = contents(prepare(tmp_path, (), NOW))[0]

    assert contents(prepare(tmp_path, (), NOW + timedelta(days=3600)))[0] != authority


def test_another_host_needs_another_authority_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = contents(prepare(tmp_path, (), NOW))[0]
    assert caplog.text == ""

    files = prepare(tmp_path, ("arm.test", "192.0.2.7"), NOW)

    leaf = x509.load_pem_x509_certificates(files.certificate.read_bytes())[0]
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "arm.test"]
    assert files.authority.read_bytes() != authority
    assert "may not speak for localhost, 127.0.0.1, ::1, arm.test, 192.0.2.7" in caplog.text


def test_the_authority_may_speak_for_this_machine_only(tmp_path: Path) -> None:
    files = prepare(tmp_path, (), NOW)

    authority = x509.load_pem_x509_certificate(files.authority.read_bytes())
    constraint = authority.extensions.get_extension_for_class(x509.NameConstraints)
    basic = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraint.critical
    assert len(constraint.value.permitted_subtrees or []) == 3
    assert (basic.value.ca, basic.value.path_length) == (True, 0)


@pytest.mark.parametrize("name", ["ca.pem", "ca-key.pem", "server.pem", "server-key.pem"])
@pytest.mark.parametrize("content", [None, b"", b"not a certificate"])
def test_what_is_broken_is_made_anew(tmp_path: Path, name: str, content: bytes | None) -> None:
    prepare(tmp_path, (), wall_time())
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)

    handshake(prepare(tmp_path, (), wall_time()), "localhost")


def test_a_key_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    other = prepare(tmp_path / "other", (), wall_time())
    prepare(tmp_path / "tls", (), wall_time())
    (tmp_path / "tls" / "server-key.pem").write_bytes(other.key.read_bytes())

    handshake(prepare(tmp_path / "tls", (), wall_time()), "localhost")


def test_nodes_that_start_together_on_one_directory_have_one_authority(tmp_path: Path) -> None:
    together = Barrier(4)

    def start(_: int) -> bytes:
        together.wait()
        files = prepare(tmp_path / "tls", ("lb.example",), NOW)
        return files.authority.read_bytes()

    with ThreadPoolExecutor(4) as pool:
        authorities = set(pool.map(start, range(4)))

    assert len(authorities) == 1
    handshake(prepare(tmp_path / "tls", ("lb.example",), wall_time()), "lb.example")


def test_a_node_takes_over_an_authority_that_may_speak_for_it(tmp_path: Path) -> None:
    """The way to several machines: the authority is copied, and every node signs its own certificate."""
    names = ("lb.example", "10.0.0.1", "10.0.0.2")
    first = prepare(tmp_path / "first", names, NOW)
    (tmp_path / "second").mkdir()
    for name in ("ca.pem", "ca-key.pem"):
        shutil.copy(tmp_path / "first" / name, tmp_path / "second" / name)

    second = prepare(tmp_path / "second", names, NOW)

    assert second.authority.read_bytes() == first.authority.read_bytes()
    assert second.key.read_bytes() != first.key.read_bytes()
