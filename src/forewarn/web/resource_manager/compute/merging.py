"""A change laid over what is there, as the service does it for PUT and PATCH alike."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from forewarn.web.resource_manager.compute.schema import Object

_REPLACED = frozenset({"tags", "userAssignedIdentities", "settings"})  # maps that are said as a whole
_SECRETS = frozenset({"adminPassword", "customData", "protectedSettings"})


def merge(base: Object, change: Object) -> Object:
    """Absent members keep their value, objects are merged member by member, lists and values are replaced."""
    merged = dict(base)
    for name, value in change.items():
        known = merged.get(name)
        if isinstance(value, dict) and isinstance(known, dict) and name not in _REPLACED:
            value = merge(known, value)
        merged[name] = value
    return merged


def without_secrets(value: Any) -> Any:
    """What may be kept in a journal and told back: the service never tells these back either."""
    if isinstance(value, dict):
        return {name: without_secrets(item) for name, item in value.items() if name not in _SECRETS}
    return [without_secrets(item) for item in value] if isinstance(value, list) else value


def digest(document: Object) -> str:
    """The same for the same document, whatever the order of its members."""
    return blake2b(msgspec.json.encode(document, order="deterministic"), digest_size=9).hexdigest()
