"""What an error of the system is called, for Windows: Python's own table does not have those of its sockets."""

from __future__ import annotations

import ctypes
import sys

assert sys.platform == "win32"

_UNNAMED = "Windows Error 0x"  # what stands for a text that the system does not have
_OURS = {
    1225: "connection refused",  # ERROR_CONNECTION_REFUSED, of the Proactor loop
    10013: "permission denied",
    10048: "address already in use",
    10049: "the address is not one of this machine",
    10051: "network is unreachable",
    10054: "connection reset by peer",
    10060: "timed out",
    10061: "connection refused",
    10065: "no route to host",
}  # winsock2.h


def error_words(problem: OSError) -> str:
    """In the system's own words; where it has none, in ours."""
    number = problem.winerror or problem.errno or 0
    told = ctypes.FormatError(number)
    if told.startswith(_UNNAMED) or not told:
        return _OURS.get(number, problem.strerror or str(problem))
    return told.strip().rstrip(".")
