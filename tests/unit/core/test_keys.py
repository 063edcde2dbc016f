"""Keys of what is touched: made in one place, taken apart in one place."""

from __future__ import annotations

import pytest

from forewarn.core import keys
from forewarn.core.keys import Key, KeyKind
from forewarn.core.region import scope_key
from forewarn.core.specs import ScopeKind


@pytest.mark.parametrize(
    ("key", "kind", "name", "text"),
    [
        (keys.of_event("0A1B"), KeyKind.EVENT, "0A1B", "event/0A1B"),
        (keys.of_campaign("c-1"), KeyKind.CAMPAIGN, "c-1", "campaign/c-1"),
        (keys.of_rolling_upgrade("web"), KeyKind.ROLLING_UPGRADE, "web", "rolling/web"),
        (keys.of_operation("0f0e"), KeyKind.OPERATION, "0f0e", "operation/0f0e"),
        (keys.of_deleted_set("web"), KeyKind.DELETED_SET, "web", "set/web"),
    ],
)
def test_a_key_tells_what_it_names(key: Key, kind: KeyKind, name: str, text: str) -> None:
    assert keys.kind_of(key) == (kind, name)
    assert key == text


@pytest.mark.parametrize("kind", ScopeKind)
def test_no_scope_is_taken_for_anything_else(kind: ScopeKind) -> None:
    scope = scope_key(kind, "event")

    assert keys.kind_of(keys.of_scope(scope)) == (KeyKind.SCOPE, scope)
