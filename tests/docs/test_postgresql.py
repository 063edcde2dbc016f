"""What ``docs/postgresql.md`` says about rights and limits is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from forewarn.stores.postgres.address import _PARAMETERS, _SETTINGS
from forewarn.stores.postgres.connections import OLDEST_SERVER
from forewarn.stores.postgres.schema import grants

PAGE = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text()


def test_the_rights_of_the_role_are_those_that_are_granted() -> None:
    shown = re.search(r"<!-- grants -->\n```sql\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    granted = grants("public", "forewarn").as_string(None).replace('"', "")
    assert shown[1].split() == granted.split()


def test_every_limit_is_named_with_its_value() -> None:
    for name in ("connect_timeout", "target_session_attrs", "tcp_user_timeout", "keepalives_idle", "keepalives_count"):
        assert f"{name}={_PARAMETERS[name]}" in PAGE
    for name in (
        "lock_timeout",
        "idle_in_transaction_session_timeout",
        "statement_timeout",
        "client_connection_check_interval",
    ):
        assert f"{name}={_SETTINGS[name]}" in PAGE
    assert f"PostgreSQL {OLDEST_SERVER // 10000} or newer" in PAGE
