"""What the library brings into a process: as little as possible."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import forewarn.guest

SYSTEM = "windows" if sys.platform == "win32" else "posix"
SOURCE = Path(forewarn.guest.__file__).parents[2]
HEAVY = {
    "asyncio",
    "email",
    "hashlib",
    "http.client",
    "ipaddress",
    "logging",
    "ssl",
    "subprocess",
    "urllib.parse",
    "urllib.request",
}
FORBIDDEN = ("forewarn.core", "forewarn.plane", "forewarn.stores", "forewarn.engines", "forewarn.web", "forewarn.cli")


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(SOURCE), "SYSTEMROOT": os.environ.get("SYSTEMROOT", "")},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


def test_the_client_that_waits_does_not_load_what_it_does_not_need() -> None:
    assert not loaded_by("from forewarn.guest import Client, Watcher, own_name") & HEAVY


def test_no_third_party_package_and_no_room_of_the_server_is_needed() -> None:
    """Without site-packages, all of it loads; and it loads nothing of the server."""
    loaded = loaded_by(f"from forewarn.guest import *\nimport forewarn.guest.system.{SYSTEM}.dhcp")
    assert "forewarn.guest.aio" in loaded
    assert not [name for name in loaded if name.startswith(FORBIDDEN)]


def test_every_public_name_is_there() -> None:
    for name in forewarn.guest.__all__:
        assert getattr(forewarn.guest, name).__name__ == name
    assert not hasattr(forewarn.guest, "Nonsense")
