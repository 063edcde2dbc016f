"""Unix sockets that lead to one VM each: what QEMU's user networking, without root, hands a guest's requests to.

A binding has a name, never a path: the directory is the server's own. It and the sockets in it are for their owner
alone, so that whoever connects is a program of the same user; which VM it speaks for is what the socket's name says.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path

from forewarn.core.deciding.bindings import is_netns

NO_SOCKETS = "this system has no Unix sockets for guests"
_PATH_MOST = 107  # bytes: sun_path of unix(7) without its end


def guest_socket_path(directory: Path | None, name: str) -> Path:
    """Where the socket of that name is. A name that would lead elsewhere is refused."""
    if sys.platform == "win32":
        raise OSError(NO_SOCKETS)
    if directory is None:
        raise OSError("this server has no directory for sockets of guests")
    if not is_netns(name):
        raise OSError(f"'{name[:40]}' cannot name a socket: use letters, digits, '.', '_' and '-'")
    path = directory / f"{name}.sock"
    if len(os.fsencode(path)) > _PATH_MOST:
        raise OSError(f"its path would be longer than {_PATH_MOST} bytes: choose a shorter guest_sockets directory")
    return path


def listen_at_path(path: Path, backlog: int) -> socket.socket:
    """A listening socket there. One that a server has left behind is replaced; what somebody answers at is not."""
    if sys.platform == "win32":
        raise OSError(NO_SOCKETS)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _clear(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(backlog)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _clear(path: Path) -> None:
    if sys.platform == "win32":
        return
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise OSError(f"{path} is there, and is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise OSError(f"somebody listens at {path} already")
