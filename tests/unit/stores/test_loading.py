"""Who does not use PostgreSQL does not pay for it."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
import forewarn.cli.main, forewarn.cli.commands.serve, forewarn.cli.commands.stores
import forewarn.stores.shared_memory, forewarn.stores.sqlite.journal
print(*sorted(name for name in sys.modules if name.startswith(("psycopg", "forewarn.stores.postgres"))))
"""


def test_a_server_without_a_shared_store_does_not_load_psycopg() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "\n"
