"""The one way of a document into the journal, and out of it: without secrets, in both directions.

Out of it too, because a journal may be older than the rule and hold one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.core.commands import KeepResource
from forewarn.core.region import Resource
from forewarn.web.resource_manager.secrets import without_secrets


def keep(document: dict[str, Any], owner: str = "") -> KeepResource:
    """Remember a document under its ``id``, for as long as ``owner`` is there if it has one."""
    return KeepResource(document["id"], msgspec.json.encode(without_secrets(document)).decode(), owner)


def read(kept: Resource) -> dict[str, Any]:
    return without_secrets(msgspec.json.decode(kept.body))
