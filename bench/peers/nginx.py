"""nginx with the document written into its configuration: no look-up, no version check, only the header check."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import CannotMeasure, running, wait_for
from tests.ports import free_port

_CONFIGURATION = """\
worker_processes {workers};
error_log {directory}/error.log crit;
pid {directory}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  server {{
    listen 127.0.0.1:{port}{share};
    location / {{
      if ($http_metadata != "true") {{ return 400; }}
      default_type "application/json; charset=utf-8";
      add_header ETag '"1"';
      add_header x-ms-request-id $request_id;
      return 200 '{body}';
    }}
  }}
}}
"""


def version() -> str:
    """What nginx says of itself."""
    return subprocess.run([_program(), "-v"], capture_output=True, text=True).stderr.rpartition("/")[2].strip()


@contextmanager
def serving(directory: Path, body: bytes, *, workers: int = 1) -> Iterator[tuple[int, int]]:
    """The peer's port and process id. One worker has a core for itself; several have a socket each, on all cores."""
    port = free_port()
    configuration = directory / "nginx.conf"
    share = " reuseport" if workers > 1 else ""
    text = _CONFIGURATION.format(directory=directory, port=port, body=body.decode(), workers=workers, share=share)
    configuration.write_text(text)
    command = [_program(), "-p", str(directory), "-c", str(configuration), "-g", "daemon off;"]
    with running(command, pinned=workers == 1) as pid:
        wait_for(port, pid)
        yield port, pid


def _program() -> str:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise CannotMeasure("nginx is not installed (Debian: apt-get install nginx-light)")
    return found
