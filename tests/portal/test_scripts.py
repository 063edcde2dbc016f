"""The scripts are typed by their comments, and the TypeScript compiler agrees with what they say."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.portal.browser import ROOT

_COMPILER = ROOT / ".build/portal/node_modules/.bin/tsc"
_PROJECT = ROOT / "tests/portal/js"


def _compile(project: Path) -> str:
    done = subprocess.run([_COMPILER, "-p", project], capture_output=True, text=True, timeout=100)
    return done.stdout + done.stderr


def test_the_scripts_do_with_their_values_what_their_types_allow() -> None:
    assert _compile(_PROJECT) == ""


def test_a_script_that_is_wrong_about_its_types_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "wrong.js").write_text("export let count = 1;\ncount = document.title;\n")
    (tmp_path / "tsconfig.json").write_text(
        (_PROJECT / "tsconfig.json").read_text().replace("../../../src/forewarn/web/portal/static/*.js", "wrong.js")
    )
    assert "Type 'string' is not assignable to type 'number'" in _compile(tmp_path)
