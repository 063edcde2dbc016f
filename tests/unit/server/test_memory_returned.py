"""What a server has freed is not kept from the system."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

_GLIBC = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt")
_BLOCKS, _SIZE = 20, 2 << 20
# A large block that was freed teaches glibc to keep the next ones; a thread's are kept longest
_LOADING = f"""
import os
from pathlib import Path
from threading import Thread
from forewarn.server.process import return_large_blocks

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def load():
    blocks = [bytearray(b"x" * {_SIZE}) for _ in range({_BLOCKS})]
    print(resident())

return_large_blocks()
bytearray(b"x" * (31 << 20))
before = resident()
print(before)
thread = Thread(target=load)
thread.start()
thread.join()
print(resident())
"""


def _loaded() -> tuple[int, int]:
    """By how many bytes a process grows while it loads, and by how many it is larger after that."""
    done = subprocess.run([sys.executable, "-c", _LOADING], capture_output=True, text=True, check=True, timeout=60)
    before, most, after = map(int, done.stdout.split())
    return most - before, after - before


@pytest.mark.skipif(not _GLIBC, reason="how glibc keeps memory")
def test_what_only_the_loading_of_a_region_needed_goes_back_to_the_system() -> None:
    grown, kept = _loaded()

    assert grown >= _BLOCKS * _SIZE
    assert kept < _BLOCKS * _SIZE // 4
