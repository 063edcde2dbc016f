"""The address of a shared region: what its owner wrote, and the timeouts that we add so that no call hangs for ever.

What the owner says wins. The password is known here only, and appears in no sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from urllib.parse import quote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from forewarn.plane.ports import JournalFault

# For libpq: give up on a host that does not answer, notice a peer that vanished, and with several hosts find the one
# that takes writes.
_PARAMETERS = {
    "fallback_application_name": "forewarn",
    "client_encoding": "UTF8",
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives": "1",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "target_session_attrs": "read-write",
}
# For the server: no statement waits long for a lock, and a node that froze or vanished does not keep one.
_SETTINGS = {
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "30s",
    "statement_timeout": "5min",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10s",
    "client_connection_check_interval": "2s",
    "default_transaction_isolation": "read committed",
}
_SECRETS = ("password", "sslpassword")
_OPTION = re.compile(r"(?:-c\s*|--)([\w.-]+)=((?:\\.|\S)*)")


@dataclass(frozen=True)
class ServerPatience:
    """How long this node waits for the server, beside what libpq and the server are told to do by themselves."""

    # A server that says nothing for so long is given up. Four times ``lock_timeout``, so that a statement that waits
    # for a lock is always refused by the server first, in its own words.
    silence_seconds: float = 20.0
    # How long a commit whose answer got lost is asked after: ``connect_timeout`` once, and one second more.
    finding_out_seconds: float = 6.0


PATIENCE = ServerPatience()


class ConnectionString:
    """A connection string, understood. ``str`` of it holds no password and may be shown and logged."""

    def __init__(self, conninfo: str, patience: ServerPatience = PATIENCE) -> None:
        self.patience = patience
        try:
            given = {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value is not None}
        except ProgrammingError:  # its words quote the very token that it stumbled over
            raise JournalFault(
                "The store's address is not a PostgreSQL connection string. It looks like "
                "postgresql://user:password@host:5432/database; in the password, every character that is not a letter "
                "or a digit is written as % and its code (a % as %25, a / as %2F, a space as %20)."
            ) from None
        options = {name.replace("-", "_"): value for name, value in _OPTION.findall(given.get("options", ""))}
        self.parameters = {**_PARAMETERS, **given}
        self.settings = {name: value for name, value in _SETTINGS.items() if name not in options}
        self._secrets = {
            form for name in _SECRETS if (secret := given.get(name)) for form in (secret, quote(secret, ""))
        }
        self._shown = _shown(given, options.get("search_path", ""))

    def __str__(self) -> str:
        return self._shown

    def without_secrets(self, text: str) -> str:
        """The text with every secret blotted out.

        Only as whole words: holes within other words would give a short secret away.
        """
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        return text


def describe(conninfo: str) -> str:
    """The address as log lines may show it: user, hosts, database and schema, but no password."""
    return str(ConnectionString(conninfo))


def _shown(given: dict[str, str], schema: str) -> str:
    hosts = (given.get("host") or given.get("hostaddr") or "").split(",")
    ports = given.get("port", "").split(",")
    if len(ports) == 1:
        ports *= len(hosts)
    places = ",".join(f"{host}:{port}" if port else host for host, port in zip_longest(hosts, ports, fillvalue=""))
    user = f"{given['user']}@" if "user" in given else ""
    where = f"postgresql://{user}{places}/{given.get('dbname', '')}"
    return f"{where} (schema {schema})" if schema else where
