"""A change laid over what is there, as the service does it for PUT and PATCH alike."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from forewarn.web.resource_manager.compute.schema import Object

_REPLACED = frozenset({"tags", "userAssignedIdentities", "settings"})  # maps that are said as a whole


def merge(base: Object, change: Object, *, is_patch: bool = False) -> Object:
    """Absent members keep their value, objects are merged member by member, lists and values are replaced.

    What is kept only to be told back is changed by a merge patch (RFC 7396): a null takes its member away, and no map
    is said as a whole. Machines know their members, and for them a null is a value.
    """
    merged = dict(base)
    for name, value in change.items():
        known = merged.get(name)
        if isinstance(value, dict) and isinstance(known, dict) and (is_patch or name not in _REPLACED):
            value = merge(known, value, is_patch=is_patch)
        merged[name] = value
    return {name: value for name, value in merged.items() if value is not None} if is_patch else merged


def digest(document: Object) -> str:
    """The same for the same document, whatever the order of its members."""
    return blake2b(msgspec.json.encode(document, order="deterministic"), digest_size=9).hexdigest()
