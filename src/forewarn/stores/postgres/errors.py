"""What PostgreSQL's errors mean to a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from forewarn.plane.ports import JournalFault
from forewarn.stores.postgres.address import ConnectionString

_NOTHING = "Nothing was changed"
_AGAIN = f"{_NOTHING}; try again"
_WENT_AWAY = "went away: the server stopped, or something ended our connection to it"
_POOLED = (
    "is reached through something that gives our connection to others, such as a pooler that pools transactions. "
    f"{_NOTHING}; let it pool sessions, or go around it"
)
# By the code of the condition, or by the class that its first two characters are.
_BY_CODE = {
    "0A": f"does not know something that forewarn needs. {_NOTHING}; forewarn needs PostgreSQL 14 or newer",
    "23": f"was written by something that does not follow its order. {_NOTHING}; look for other programs that write to "
    "its tables",
    "25006": "may only be read: it is a standby, or a server that was set to read only. Name the primary, or all hosts",
    "25P03": f"{_WENT_AWAY}. {_AGAIN}",
    "26000": _POOLED,
    "28": "does not let us in. Check user and password in the address, and the server's pg_hba.conf",
    "3D000": "is not there: the server has no database of that name. Make it, or correct the address",
    "3F000": "is not there: the database has no schema of that name. Make it, or correct the address",
    "40": f"could not agree with another transaction. {_AGAIN}",
    "42P05": _POOLED,
    "42501": "does not let us do what we have to: a permission is missing. Grant this role what docs/postgresql.md "
    "lists, or run `forewarn store prepare` as its owner",
    "42": "has not the shape of a journal. It was not touched; run `forewarn store prepare`, or correct the address",
    "53100": f"could not be written, because the server's disk is full. {_NOTHING}; free some space there",
    "53200": f"has no memory left for us. {_AGAIN}",
    "53300": f"has no connection left for us. {_NOTHING}; raise max_connections, or close what is idle",
    "53": f"has run out of something. {_AGAIN}",
    "55P03": f"is held by another node, or by another program, for too long. {_AGAIN}",
    "57014": f"took too long with a statement, which was canceled. {_AGAIN}",
    "57P03": f"cannot be used right now: the server is starting or shutting down. {_AGAIN}",
    "57": f"{_WENT_AWAY}. {_AGAIN}",
    "58": f"could not be read or written. {_NOTHING}; check the server's disk and log",
    "XX": "is damaged, or the server is. It was not touched; look into the server's log, and restore a backup",
}
# A failure to connect has no SQLSTATE, only a message.
_BY_WORDS = {
    "closed the connection": _BY_CODE["57"],
    "connection has been closed": _BY_CODE["57"],
    "connection is closed": _BY_CODE["57"],
    "connection is lost": _BY_CODE["57"],
    "reset by peer": _BY_CODE["57"],
    "pipeline mode": _BY_CODE["57"],  # psycopg's word when the connection goes in the middle of one
    "no answer": f"does not answer. {_AGAIN} when the server, and the network between, have recovered",
    "authentication failed": _BY_CODE["28"],
    "no password supplied": _BY_CODE["28"],
    "pg_hba.conf": _BY_CODE["28"],
    "starting up": _BY_CODE["57P03"],
    "not yet accepting": _BY_CODE["57P03"],
    "shutting down": _BY_CODE["57P03"],
    "in recovery mode": _BY_CODE["57P03"],
    "too many clients": _BY_CODE["53300"],
    "too many connections": _BY_CODE["53300"],
    "connection slots are reserved": _BY_CODE["53300"],
    "is read-only": _BY_CODE["25006"],
    "hot standby mode": _BY_CODE["25006"],
    "does not exist": _BY_CODE["3D000"],
    "resolve host": "cannot be found. Check the host's name in the address, and the name service",
    "translate host name": "cannot be found. Check the host's name in the address, and the name service",
    "ssl": "cannot be reached with the encryption that was asked for. Check sslmode and the certificates it names",
}
_UNREACHABLE = (
    "cannot be reached. Check that the server runs, the host and port in the address, and the network between"
)
_UNKNOWN = f"could not be used. {_NOTHING}"


def fault(address: ConnectionString, error: psycopg.Error) -> JournalFault:
    """What went wrong, for a person, without a secret."""
    return JournalFault(f"The journal {address} {_meaning(error)}. (PostgreSQL says: {said(address, error)}.)")


def said(address: ConnectionString, error: Exception) -> str:
    """The words of an error on one line, without a secret and without a full stop."""
    return " ".join(address.without_secrets(str(error)).split()).rstrip(".")


@contextmanager
def explained(address: ConnectionString) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise fault(address, error) from error


def _meaning(error: psycopg.Error) -> str:
    code, words = error.sqlstate, str(error).lower()
    if code is not None:
        return _BY_CODE.get(code) or _BY_CODE.get(code[:2]) or _UNKNOWN
    for known, meaning in _BY_WORDS.items():
        if known in words:
            return meaning
    return _UNREACHABLE if isinstance(error, psycopg.OperationalError) else _UNKNOWN
