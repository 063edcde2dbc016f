"""The address of a shared store. It may carry a password, so nothing here ever repeats what it was given."""

from __future__ import annotations

from urllib.parse import urlsplit

_SCHEMES = ("postgresql", "postgres")
_EXAMPLE = "postgresql://forewarn@db.example/forewarn"


def read_store(text: str) -> str:
    """Check an address as far as it can be checked without the database's own library."""
    if not text:
        return ""
    if not text.startswith(tuple(f"{scheme}://" for scheme in _SCHEMES)):
        raise ValueError(f"a store is a PostgreSQL address, such as {_EXAMPLE}")
    if not text.isprintable() or " " in text or "#" in text:
        raise ValueError("an address holds no spaces and no '#'; in a password, write %20 and %23")
    parts = urlsplit(text)
    if text.count("@") != parts.netloc.count("@") or text.count("@") > 1:
        raise ValueError("an address holds one '@', before the host; in a password, write %40 for '@' and %2F for '/'")
    for host in _hosts(parts.netloc):
        name, colon, port = host.rpartition(":")
        if colon and not host.endswith("]") and not (port.isascii() and port.isdecimal()):
            raise ValueError(f"a host, or the number of its port, cannot be read; write it as {_EXAMPLE}")
        if ":" in name and not name.startswith("["):
            raise ValueError("an IPv6 address stands in brackets, such as postgresql://[fd00::1]/forewarn")
    return text


def show_store(text: str) -> str:
    """Which database it is, and as whom: all of the address that is not, and cannot hold, a secret."""
    if not text:
        return ""
    parts = urlsplit(text)
    userinfo, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{userinfo.partition(':')[0]}{at}{','.join(_hosts(parts.netloc))}{parts.path}"


def _hosts(netloc: str) -> list[str]:
    return netloc.rpartition("@")[2].split(",")
