"""The certificate that clients insist on: a local authority, made on first start, that vouches for this machine only.

The authority's own certificate says for which names it may speak, so that its key, should it get lost, is good for
nothing else: not for any site that its holders might visit. Keys are readable by their owner alone.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from forewarn.durable import FileLock, make_directory, sync_directory, write_whole

CERTIFICATE = "server.pem"
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_AUTHORITY_LIFE = timedelta(days=3650)  # ten years, as mkcert's: installed once by hand
_LEAF_LIFE = timedelta(days=397)  # Apple and Mozilla refuse certificates that are good for more than 398 days
_RENEW_BEFORE = timedelta(days=30)  # as Let's Encrypt advises: a month before it ends
_AGO = timedelta(hours=1)  # clocks differ
_KEY, _NEXT_KEY = "ca-key.pem", "ca-key.next.pem"  # of the authority

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TlsFiles:
    """Where the parts are."""

    authority: Path
    certificate: Path  # the leaf, then the authority
    key: Path

    def authority_pem(self) -> str:
        return self.authority.read_text()


def prepare(directory: Path, hosts: tuple[str, ...], now: datetime) -> TlsFiles:
    """Certificates for localhost and ``hosts`` that are good for a while: those in ``directory``, or new ones.

    Nodes that start together on one directory come one after the other, so that all have the same authority.
    """
    make_directory(directory)
    with _alone_in(directory):
        return _prepare(directory, hosts, now)


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """A lock on the directory, by a file in it: over a network file system a directory itself cannot be locked."""
    lock = FileLock(directory / "lock", wait=True)
    try:
        yield
    finally:
        lock.close()


def _prepare(directory: Path, hosts: tuple[str, ...], now: datetime) -> TlsFiles:
    files = TlsFiles(directory / "ca.pem", directory / CERTIFICATE, directory / "server-key.pem")
    names = tuple(dict.fromkeys((*LOCAL_NAMES, *(host.lower() for host in hosts))))
    authority, key = _authority(directory, names, now)
    if not _usable(files, authority, names, now):
        _write_leaf(files, authority, key, names, now)
    return files


def _authority(
    directory: Path, names: tuple[str, ...], now: datetime
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """The one that is there, if it may speak for these names and will for long enough; else a new one."""
    certificate_path = directory / "ca.pem"
    _finish_replacing(directory)
    with suppress(OSError, ValueError, x509.ExtensionNotFound):
        found = x509.load_pem_x509_certificate(certificate_path.read_bytes())
        key = _key_of(found, directory / _KEY)
        permitted = found.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees or []
        fits = set(_constraints(names)) <= set(permitted) and found.not_valid_after_utc > now + _LEAF_LIFE
        if fits and key is not None:
            return found, key
    if certificate_path.exists():
        _log.warning(
            "The authority in %s may not speak for %s, or not for long; the new one must be told to all clients.",
            directory,
            ", ".join(names),
        )
    made_key = ec.generate_private_key(ec.SECP256R1())
    made = _sign_authority(made_key, names, now)
    write_whole(directory / _NEXT_KEY, _pem(made_key), 0o600)
    write_whole(certificate_path, made.public_bytes(serialization.Encoding.PEM), 0o644)
    _finish_replacing(directory)
    return made, made_key


def _finish_replacing(directory: Path) -> None:
    """Complete the replacement of an authority that was interrupted.

    The new key is written beside the old one, and the new certificate's rename decides which is in use. So a process
    that is killed, or loses power, on the way leaves a certificate that has its key; the rest is done here, durably,
    before anything else is written.
    """
    waits = False
    with suppress(OSError, ValueError):
        certificate = x509.load_pem_x509_certificate((directory / "ca.pem").read_bytes())
        waits = _key_of(certificate, directory / _NEXT_KEY) is not None
    if waits:
        (directory / _NEXT_KEY).replace(directory / _KEY)
    sync_directory(directory)


def _key_of(certificate: x509.Certificate, path: Path) -> ec.EllipticCurvePrivateKey | None:
    """The key in this file, if it belongs to the certificate."""
    with suppress(OSError, ValueError):
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        if isinstance(key, ec.EllipticCurvePrivateKey) and key.public_key() == certificate.public_key():
            return key
    return None


def _sign_authority(key: ec.EllipticCurvePrivateKey, names: tuple[str, ...], now: datetime) -> x509.Certificate:
    serial = x509.random_serial_number()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"forewarn local authority {serial % 16**6:06x}")])
    public = key.public_key()
    return (
        x509.CertificateBuilder(name, name, public, serial, now - _AGO, now + _AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.NameConstraints(_constraints(names), None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )


def _usable(files: TlsFiles, authority: x509.Certificate, names: tuple[str, ...], now: datetime) -> bool:
    try:
        found = x509.load_pem_x509_certificates(files.certificate.read_bytes())[0]
        key = serialization.load_pem_private_key(files.key.read_bytes(), None)
        found.verify_directly_issued_by(authority)
        covered = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except Exception:  # whatever is wrong with it, a new one is better
        return False
    fits = set(_alternatives(names)) <= set(covered)
    return fits and found.not_valid_after_utc > now + _RENEW_BEFORE and found.public_key() == key.public_key()


def _write_leaf(
    files: TlsFiles,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    names: tuple[str, ...],
    now: datetime,
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forewarn")])
    serial = x509.random_serial_number()
    issuer_key = authority_key.public_key()
    leaf = (
        x509.CertificateBuilder(authority.subject, name, key.public_key(), serial, now - _AGO, now + _LEAF_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_alternatives(names)), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    write_whole(files.key, _pem(key), 0o600)
    write_whole(files.certificate, leaf.public_bytes(encoding) + authority.public_bytes(encoding), 0o644)


def _alternatives(names: tuple[str, ...]) -> list[x509.GeneralName]:
    return [_address(name) or x509.DNSName(name) for name in names]


def _address(name: str) -> x509.IPAddress | None:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return None


def _constraints(names: tuple[str, ...]) -> list[x509.GeneralName]:
    """The same names, in the form in which an authority is limited to them."""
    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ipaddress.ip_network(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
