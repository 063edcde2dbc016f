"""Which node of a shared region leads: a lease by the server's clock, and none longer than its holder's connection.

A node that was killed closes its connection with it, and the next one takes over at once. One that is frozen, or cut
off from the server, keeps the connection and loses the lead when the lease is over.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from forewarn.stores.postgres.connections import PostgresSession
from forewarn.stores.postgres.facts import Position, place_in

_LEASE = "interval '11 seconds'"
_RENEWED_BELOW = "interval '10 seconds'"  # so that a call in a row does not write, and each is good for ten seconds
_SET_BACK = f"until > clock_timestamp() + {_LEASE}"  # only where the server's clock has gone back since
_GLANCE = f"""
SELECT head.seq, head.chain, clock_timestamp(), holder = %s, until > clock_timestamp() AND NOT {_SET_BACK},
    until > clock_timestamp() + {_RENEWED_BELOW} AND NOT {_SET_BACK}, EXISTS (SELECT FROM pg_stat_get_activity(pid))
FROM head LEFT JOIN lead ON true
""".encode()  # noqa: S608 - our own words
# Another node may have been faster, so all that makes a claim good is looked at again with the row locked.
_CLAIM = f"""
INSERT INTO lead AS old (holder, pid, until) VALUES (%s, pg_backend_pid(), clock_timestamp() + {_LEASE})
ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, pid = excluded.pid, until = excluded.until
WHERE old.holder = excluded.holder OR old.until <= clock_timestamp() OR old.{_SET_BACK}
    OR NOT EXISTS (SELECT FROM pg_stat_get_activity(old.pid))
RETURNING true
""".encode()  # noqa: S608 - a constant of ours


class Glance(NamedTuple):
    """The head, by what clock, and who leads, as one look at the server shows it."""

    head: Position
    now: datetime
    mine: bool
    fresh: bool
    free: bool


def glance(connection: PostgresSession, holder: str) -> Glance:
    row = connection.execute(_GLANCE, (holder,), binary=True).fetchone()
    head = place_in(row)
    assert row is not None
    _, _, now, mine, lasts, fresh, lives = row
    return Glance(head, now.astimezone(UTC), bool(mine and lasts), bool(fresh), not (lasts and lives))


def claim(connection: PostgresSession, holder: str) -> bool:
    """Lead, or go on leading; False if another node was faster."""
    return connection.execute(_CLAIM, (holder,)).fetchone() is not None


def give_up(connection: PostgresSession, holder: str) -> None:
    connection.execute("DELETE FROM lead WHERE holder = %s", (holder,))
