"""``portal = off`` removes the portal wholly: its addresses, its place in the ready line, its modules, jinja2."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram, ask

_TELLS_IMPORTS = (sys.executable, "-X", "importtime")
_ITS_OWN = re.compile(r"\| +((?:jinja2|markupsafe|forewarn\.web\.portal)\S*)$", re.MULTILINE)


@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_server_without_a_portal_has_loaded_nothing_of_it(tmp_path: Path, switch: str) -> None:
    with ServerProgram.start(tmp_path / "data", "--portal", switch, wrapper=_TELLS_IMPORTS) as server:
        answers = {path: ask(server.control, path) for path in ("/", "/portal", "/portal/", "/portal/vms", "/v1/ping")}
        code = ask(server.control, "/v1/portal/code", {"Content-Type": "application/json"}, "POST", b"{}")
        said = server.ready
        loaded = set(_ITS_OWN.findall(server.log.read_text()))

    statuses = [answer.status for answer in answers.values()]
    if switch == "on":
        assert (statuses, code.status) == ([303, 303, 200, 200, 200], 201)
        assert {"jinja2", "forewarn.web.portal.pages"} <= loaded
        assert f"portal {server.control}/portal/, " in said
    else:
        assert (statuses, code.status) == ([404, 404, 404, 404, 200], 404)
        assert loaded == set()
        assert "/portal/" not in said
