"""What a disk may hold after the power went, given what was done to it: only what was synced is certain.

The rules are POSIX's, not those of one file system, and every one of them is meant against us:

- bytes of a file are certain when a sync of that file succeeds; until then any part of them may arrive, in sectors;
- a sync that fails loses what it should have kept: a later one that succeeds says nothing about it (Linux marks such
  pages as clean);
- a name (of a new file, a new directory, a renamed or removed one) is certain when its directory is synced; until
  then it may or may not be there, and a rename happens whole or not at all. In half of the images names come in the
  order in which they were made, as a file system with a log keeps it; in the others in any.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from tests.loss.watched_disk import Call, Deed

_SECTORS = (512, 4096)
_SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)  # how much of what is not certain arrives


class Fate(Enum):
    """Whether a change survives."""

    LOOSE = "not synced yet"
    CERTAIN = "synced"
    DOUBTFUL = "its sync has failed; no other one will tell"


@dataclass(slots=True)
class Change:
    """Of a file's bytes: written at an offset, or cut to a length (``data`` is None)."""

    offset: int
    data: bytes | None
    fate: Fate = Fate.LOOSE


@dataclass(slots=True)
class File:
    """Its bytes as they are certain, and the changes since the first that is not."""

    certain: bytearray = field(default_factory=bytearray)
    changes: list[Change] = field(default_factory=list)

    def sync(self, fate: Fate) -> None:
        for change in self.changes:
            if change.fate is Fate.LOOSE:
                change.fate = fate
        while self.changes and self.changes[0].fate is Fate.CERTAIN:
            change = self.changes.pop(0)
            _apply(self.certain, change.offset, change.data)

    def content(self, chance: random.Random, share: float) -> bytes:
        """One of the contents that may be found after a power loss."""
        found = bytearray(self.certain)
        sector = chance.choice(_SECTORS)
        for change in self.changes:
            if change.fate is Fate.CERTAIN:
                _apply(found, change.offset, change.data)
            elif change.data is None:
                if chance.random() < share:
                    _apply(found, change.offset, None)
            else:
                _tear(found, change.offset, change.data, sector, chance, share)
        return bytes(found)


class Directory:
    """Made by ``mkdir``. What it holds is known by the names of the whole tree."""


Node: TypeAlias = File | Directory


@dataclass(slots=True)
class Naming:
    """A change of names that happens whole or not at all."""

    directory: str
    gone: tuple[str, ...] = ()
    come: dict[str, Node] = field(default_factory=dict)


class DiskModel:
    """The tree below ``root``: as the process sees it, and what of that is certain."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._names: dict[str, Node] = {root: Directory()}  # as everybody sees it now
        self._certain: dict[str, Node] = dict(self._names)
        self._namings: list[Naming] = []  # those that are not certain
        self._open: dict[tuple[int, int], str | File] = {}  # a directory by its path

    def do(self, deed: Deed) -> None:
        """Let one call happen."""
        match deed.call:
            case Call.BEGIN:
                self._open = {key: node for key, node in self._open.items() if key[0] != deed.process}
            case Call.OPEN:
                self._open_file(deed)
            case Call.CLOSE:
                self._open.pop((deed.process, deed.file), None)
            case Call.WRITE:
                self._file(deed).changes.append(Change(deed.offset, deed.text))
            case Call.TRUNCATE:
                self._file(deed).changes.append(Change(deed.offset, None))
            case Call.SYNC:
                self._sync(deed)
            case Call.MKDIR:
                self._name(_above(deed.path), come={deed.path: Directory()})
            case Call.UNLINK | Call.RMDIR:
                self._name(_above(deed.path), gone=(deed.path,))
            case Call.RENAME:
                self._rename(deed.path, deed.other)

    def image(self, into: Path, chance: random.Random) -> None:
        """Write one of the trees that may be found after a power loss at this moment."""
        share = chance.choice(_SHARES)
        names = self._names_left(chance, share)
        for path in sorted(names):
            target = into / PurePosixPath(path).relative_to(self._root)
            node = names[path]
            if not target.parent.is_dir():
                continue  # its directory did not come through
            if isinstance(node, File):
                target.write_bytes(node.content(chance, share))
                target.chmod(0o600)
            else:
                target.mkdir(mode=0o700, exist_ok=True)

    def _names_left(self, chance: random.Random, share: float) -> dict[str, Node]:
        names = dict(self._certain)
        in_order = chance.random() < 0.5
        kept = round(len(self._namings) * chance.random()) if in_order else 0
        for place, naming in enumerate(self._namings):
            if place < kept if in_order else chance.random() < share:
                _rename(names, naming)
        return names

    def _open_file(self, deed: Deed) -> None:
        path = deed.path
        node = self._names.get(path)
        if node is None:  # only ours are watched from their first moment on, so it was made now
            node = File()
            self._name(_above(path), come={path: node})
        elif isinstance(node, File) and deed.flags & os.O_TRUNC:
            node.changes.append(Change(0, None))
        self._open[deed.process, deed.file] = node if isinstance(node, File) else path

    def _file(self, deed: Deed) -> File:
        found = self._open[deed.process, deed.file]
        assert isinstance(found, File), "a directory was written to"
        return found

    def _sync(self, deed: Deed) -> None:
        found = self._open[deed.process, deed.file]
        if isinstance(found, File):
            found.sync(Fate.DOUBTFUL if deed.error else Fate.CERTAIN)
        elif not deed.error:
            for naming in self._namings:
                if naming.directory == found:
                    _rename(self._certain, naming)
            self._namings = [naming for naming in self._namings if naming.directory != found]

    def _rename(self, path: str, other: str) -> None:
        moved = {other + old[len(path) :]: node for old, node in self._names.items() if _within(old, path)}
        self._name(_above(path), gone=tuple(old for old in self._names if _within(old, path)), come=moved)

    def _name(self, directory: str, gone: tuple[str, ...] = (), come: dict[str, Node] | None = None) -> None:
        naming = Naming(directory, gone, come or {})
        self._namings.append(naming)
        _rename(self._names, naming)


def replayed(root: str, deeds: Iterable[Deed]) -> DiskModel:
    model = DiskModel(root)
    for deed in deeds:
        model.do(deed)
    return model


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _rename(names: dict[str, Node], naming: Naming) -> None:
    for path in naming.gone:
        names.pop(path, None)
    names.update(naming.come)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def _tear(content: bytearray, offset: int, data: bytes, sector: int, chance: random.Random, share: float) -> None:
    """Some of the sectors arrive."""
    at = offset
    while at < offset + len(data):
        end = min((at // sector + 1) * sector, offset + len(data))
        if chance.random() < share:
            _apply(content, at, data[at - offset : end - offset])
        at = end
