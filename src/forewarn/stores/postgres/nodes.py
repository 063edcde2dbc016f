"""Who serves a shared region: each node says so every few seconds, and is forgotten a minute after it stops."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC

import msgspec
from msgspec import structs

from forewarn.plane.ports import Node
from forewarn.stores.postgres.connections import PostgresSession
from forewarn.stores.postgres.facts import escaped

_FORGOTTEN_AFTER = "interval '1 minute'"
_ANNOUNCE = """
INSERT INTO nodes (id, seen_at, told) VALUES (%s, clock_timestamp(), %s)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, told = excluded.told
"""
# A constant of ours
_FORGET = f"DELETE FROM nodes WHERE seen_at < clock_timestamp() - {_FORGOTTEN_AFTER}".encode()  # noqa: S608
# A constant of ours
_LIST = f"SELECT told, seen_at FROM nodes WHERE seen_at >= clock_timestamp() - {_FORGOTTEN_AFTER}".encode()  # noqa: S608


def announce(connection: PostgresSession, node: Node) -> None:
    """Store this node's row. ``seen_at`` is set by the server's clock, not by the node's."""
    connection.execute(_ANNOUNCE, (escaped(node.id), msgspec.json.encode(node).decode()))
    connection.execute(_FORGET)  # by itself: two nodes that come back at once would wait for each other


def withdraw(connection: PostgresSession, node_id: str) -> None:
    connection.execute("DELETE FROM nodes WHERE id = %s", (escaped(node_id),))


def listed(connection: PostgresSession) -> list[Node]:
    """By name. A node of a version that tells of itself in another way is left out."""
    found: list[Node] = []
    for told, seen_at in connection.execute(_LIST, binary=True):
        with suppress(msgspec.DecodeError):
            found.append(structs.replace(msgspec.json.decode(told, type=Node), seen_at=seen_at.astimezone(UTC)))
    return sorted(found, key=lambda node: (node.name, node.id))
