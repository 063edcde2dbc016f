"""A socket that listens, made before a server has it, so that a port in use is one sentence."""

from __future__ import annotations

import os
import socket
import sys


def server_socket(host: str, port: int, backlog: int) -> socket.socket:
    """One that has its port alone. On Windows another program could share it, unless that is forbidden."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if sys.platform != "win32":
        return socket.create_server((host, port), family=family, backlog=backlog)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        listening.bind((host, port))
        listening.listen(backlog)
    except BaseException:
        listening.close()
        raise
    return listening


def error_words(problem: OSError) -> str:
    """What the system calls an error of a socket."""
    if sys.platform == "win32":
        from forewarn.error_words import error_words as told

        return told(problem)
    return os.strerror(problem.errno) if problem.errno else str(problem)
