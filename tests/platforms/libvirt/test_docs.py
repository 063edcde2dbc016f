"""What docs/machines.md prints is what the tests of this folder run."""

from __future__ import annotations

from pathlib import Path

from tests.platforms.libvirt.daemons import HOOK


def test_the_hook_that_the_page_prints_is_the_one_that_was_tried() -> None:
    page = (Path(__file__).parents[3] / "docs/machines.md").read_text()
    assert f"```sh\n{HOOK.read_text()}```" in page
