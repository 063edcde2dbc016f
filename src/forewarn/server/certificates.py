"""The certificates of the Resource Manager face: where a server keeps them. Loaded only by a node that has the face."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from forewarn.settings.resolve import Settings
from forewarn.stores.sqlite import own_directory
from forewarn.web.resource_manager.login.tls import CERTIFICATE, TlsFiles, prepare


@contextmanager
def directory_of(settings: Settings) -> Iterator[Path]:
    """They are read once, so those of an ephemeral region need no place after that."""
    if not settings.ephemeral:
        yield settings.data / "tls"
        return
    with TemporaryDirectory(prefix="forewarn-tls-") as directory:
        yield Path(directory)


def certificates_in(directory: Path, settings: Settings, hosts: tuple[str, ...], now: datetime) -> tuple[TlsFiles, str]:
    """Those that are there or new ones, with the authority's as text. It blocks.

    A data directory's only its owner may write, also where the journal is in a database.
    """
    if not settings.ephemeral:
        own_directory.prepare(settings.data, directory.name)
        own_directory.prepare(directory, CERTIFICATE)
    files = prepare(directory, hosts, now)
    return files, files.authority_pem()
