"""A start loads no face that is not wanted, and ``portal = off`` removes the portal: addresses, words and modules."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram, ask

_TELLS_IMPORTS = (sys.executable, "-X", "importtime")
_ITS_OWN = re.compile(r"\| +((?:jinja2|markupsafe|forewarn\.web\.portal)\S*)$", re.MULTILINE)
_OF_THE_RESOURCE_MANAGER = re.compile(r"\| +((?:cryptography|forewarn\.web\.resource_manager)\S*)$", re.MULTILINE)


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


def test_a_start_loads_neither_the_pages_nor_a_face_that_is_off(tmp_path: Path) -> None:
    options = ("--resource-manager", "off")
    with ServerProgram.start(tmp_path / "data", *options, wrapper=_TELLS_IMPORTS) as server:
        pinged = ask(server.control, "/v1/ping")
        loaded = server.log.read_text()
        page = ask(server.control, "/portal/")
        loaded_then = server.log.read_text()

    assert (pinged.status, page.status) == (200, 200)
    pages = {"jinja2", "forewarn.web.portal.pages", "forewarn.web.portal.app"}
    assert pages & set(_ITS_OWN.findall(loaded)) == set()
    assert pages <= set(_ITS_OWN.findall(loaded_then))
    assert _OF_THE_RESOURCE_MANAGER.findall(loaded_then) == []
