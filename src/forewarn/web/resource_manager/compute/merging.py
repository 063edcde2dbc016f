"""A change laid over what is there, as the service does it for PUT and PATCH alike."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from forewarn.web.resource_manager.compute.schema import Object

_REPLACED = frozenset({"tags", "userAssignedIdentities", "settings"})  # maps that are said as a whole


def merge(base: Object, change: Object) -> Object:
    """Absent members keep their value, objects are merged member by member, lists and values are replaced."""
    merged = dict(base)
    for name, value in change.items():
        known = merged.get(name)
        if isinstance(value, dict) and isinstance(known, dict) and name not in _REPLACED:
            value = merge(known, value)
        merged[name] = value
    return merged


def digest(document: Object) -> str:
    """The same for the same document, whatever the order of its members."""
    return blake2b(msgspec.json.encode(document, order="deterministic"), digest_size=9).hexdigest()
