"""Who names no collector does not pay for one."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
import forewarn.cli.main, forewarn.cli.commands.serve, forewarn.server.opening, forewarn.server.life
# The interface alone (opentelemetry.trace) is what FastAPI loads where it is there
ours = ("opentelemetry.sdk", "opentelemetry.exporter", "forewarn.server.otlp", "requests")
print(*sorted(name for name in sys.modules if name.startswith(ours)))
"""
LACKING = """
import sys
sys.modules["opentelemetry.sdk"] = None  # as if it were not installed
from forewarn.__main__ import main
sys.argv = ["forewarn", "serve", "--ephemeral", "--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0",
            "--resource-manager", "off", "--otlp", "http://127.0.0.1:9"]
sys.exit(main())
"""


def test_a_server_without_a_collector_does_not_load_opentelemetry() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "\n"


def test_without_the_extra_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", LACKING], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "'forewarn serve --otlp' needs opentelemetry, a package of the otlp extra" in done.stderr
