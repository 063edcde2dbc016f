"""The number of the newest edition, in memory that a server shares with its readers.

The server raises it before it tells anybody of a publication. So a reader that looks here before it answers knows
whether anybody, by whichever way, may have been shown more than it knows. Only the server writes; one look is one read
of eight bytes. A number begins with its server and ends with it: readers never outlive the server that began them.
"""

from __future__ import annotations

import mmap
import os
import sys
from typing import Final

_BYTES: Final = 8  # of one number, as machines of 64 bits read and write it in one go
_NOT_HERE: Final = "readers need memory that processes share by a descriptor, which only Linux has"


class SharedNumber:
    """``descriptor`` is what a reader inherits."""

    def __init__(self, descriptor: int, *, writes: bool) -> None:
        self.descriptor = descriptor
        self._memory = _map(descriptor, writes=writes)
        self._cells = memoryview(self._memory).cast("Q")

    @classmethod
    def create(cls) -> SharedNumber:
        """A new one, which is zero."""
        if sys.platform != "linux":
            raise OSError(_NOT_HERE)
        descriptor = os.memfd_create("forewarn-readers")
        os.ftruncate(descriptor, _BYTES)
        return cls(descriptor, writes=True)

    @property
    def value(self) -> int:
        return self._cells[0]

    def raise_to(self, number: int) -> None:
        self._cells[0] = number

    def close(self) -> None:
        """Look no more."""
        self._cells.release()
        self._memory.close()
        os.close(self.descriptor)


def _map(descriptor: int, *, writes: bool) -> mmap.mmap:
    if sys.platform != "linux":
        raise OSError(_NOT_HERE)
    return mmap.mmap(descriptor, _BYTES, prot=mmap.PROT_READ | (mmap.PROT_WRITE if writes else 0))
