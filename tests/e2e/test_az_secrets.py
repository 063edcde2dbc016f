"""The members that the real ``az`` knows as secret are the ones that are never kept."""

from __future__ import annotations

import re

import pytest

from forewarn.web.resource_manager.secrets import is_secret
from tests.e2e.az import find_az

pytestmark = pytest.mark.slow

_MARKED = re.compile(r'(\w+)\.set_prop\("(\w+)"[^\n]*"secret": True')
_HOLDERS = {"content": "additionalUnattendContent"}
_NO_SECRET = {"encryptionCertThumbprint"}  # names the key that something else is sealed with


def test_what_az_marks_as_secret_is_never_kept() -> None:
    modules = next(find_az().parents[1].glob("lib/python3*/site-packages/azure/cli/command_modules"))
    marked = set()
    for module in ("vm", "network", "computefleet"):
        for path in (modules / module / "aaz" / "latest").rglob("*.py"):
            marked |= {found[2] for found in _MARKED.finditer(path.read_text())}

    assert {"adminPassword", "protectedSettings", "customData", "radiusServerSecret", "content"} <= marked
    assert [name for name in sorted(marked - _NO_SECRET) if not is_secret(name, _HOLDERS.get(name, ""))] == []
