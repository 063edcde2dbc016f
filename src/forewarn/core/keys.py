"""What a command has touched or the agenda reminds of, as typed keys.

A key is a text that says what it names (``event/ID``, ``campaign/ID``, a scope's own key), so that it sorts, hashes
and takes memory as a text does: an agenda holds a million of them. The type keeps other texts out, and ``kind_of`` is
the one place that takes a key apart.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from enum import Enum
from typing import NewType, cast

Key = NewType("Key", str)


class KeyKind(Enum):
    """What a key may name."""

    EVENT = "event"
    CAMPAIGN = "campaign"
    ROLLING_UPGRADE = "rolling"  # of the scale set whose key follows
    OPERATION = "operation"
    DELETED_SET = "set"  # a scale set that goes with its last instance
    ERRANDS = "errands"  # of the started event whose id follows: they are to be made
    MACHINE = "machine"  # of the VM whose key follows: what is next for it
    ROOM = "room"  # errands of the engine whose name follows may have found a host
    SCOPE = ""  # a scope's key stands for itself: vm/web-0, availability-set/front


_KINDS = {kind.value: kind for kind in KeyKind if kind is not KeyKind.SCOPE}


def of_event(event_id: str) -> Key:
    return Key(f"event/{event_id}")


def of_campaign(campaign_id: str) -> Key:
    return Key(f"campaign/{campaign_id}")


def of_rolling_upgrade(scale_set: str) -> Key:
    return Key(f"rolling/{scale_set}")


def of_operation(operation_id: str) -> Key:
    return Key(f"operation/{operation_id}")


def of_deleted_set(scale_set: str) -> Key:
    return Key(f"set/{scale_set}")


def of_errands(event_id: str) -> Key:
    return Key(f"errands/{event_id}")


def of_machine(vm: str) -> Key:
    return Key(f"machine/{vm}")


def of_room(engine: str) -> Key:
    return Key(f"room/{engine}")


def of_scope(scope: str) -> Key:
    return Key(scope)


def of_scopes(dues: defaultdict[datetime, list[str]]) -> defaultdict[datetime, list[Key]]:
    """The same of all scopes that are due at some instants. Nothing is made: a scope's key stands for itself."""
    return cast("defaultdict[datetime, list[Key]]", dues)


def kind_of(key: Key) -> tuple[KeyKind, str]:
    """What the key names, and the id or key by which the region knows it."""
    kind, _, name = key.partition("/")
    known = _KINDS.get(kind)
    return (KeyKind.SCOPE, key) if known is None else (known, name)
