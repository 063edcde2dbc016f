"""The plugin in pytest runs of its own: what it brings, and that it is no burden where nobody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import forewarn

ROOT = Path(__file__).parents[3]
_PASSES = "def test_it(): pass\n"
_HEAVY = ("asyncio", "msgspec", "immutables", "httptools", "pydantic", "forewarn.core", "forewarn.testing.region")


def _pytest(directory: Path, test: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run pytest on one file, with our plugin and no other."""
    (directory / "test_it.py").write_text(test)
    (directory / "pytest.ini").write_text("[pytest]\n")  # so that none of a folder above is taken
    program = f"{before}\nimport sys, pytest\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-W', 'error']))"
    source = str(Path(forewarn.__file__).parents[1])
    environment = dict(os.environ, PYTHONPATH=source, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    environment["PYTEST_PLUGINS"] = "forewarn.testing.plugin"
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):  # the last two make pytest's summary repeat the whole failure
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, "-c", program], cwd=directory, env=environment, capture_output=True, text=True, timeout=110
    )


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"forewarn": "forewarn.testing.plugin"}


def test_a_run_that_needs_no_region_loads_nothing_for_it(tmp_path: Path) -> None:
    test = f"import sys\ndef test_it(): assert not [name for name in {_HEAVY} if name in sys.modules]\n"
    done = _pytest(tmp_path, test)

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_plain_assert_that_fails_is_told_with_the_timeline(tmp_path: Path) -> None:
    test = "def test_it(region):\n    region.vm('web-0')\n    region.restart('web-0')\n    assert 1 == 2\n"
    done = _pytest(tmp_path, test)

    assert done.returncode == 1
    assert "forewarn: what happened in the region" in done.stdout
    assert done.stdout.count("Reboot of web-0 (user-restart) scheduled") == 1


def test_a_helper_that_fails_tells_the_timeline_once(tmp_path: Path) -> None:
    test = (
        "def test_it(region):\n    region.vm('web-0')\n    event = region.restart('web-0')\n"
        "    region.assert_approved_before_deadline(event)\n"
    )
    done = _pytest(tmp_path, test)

    assert done.returncode == 1
    assert "forewarn: what happened in the region" not in done.stdout
    assert done.stdout.count("Reboot of web-0 (user-restart) scheduled") == 1


def test_a_marker_chooses_the_settings_of_the_region(tmp_path: Path) -> None:
    test = (
        "import pytest\n"
        "@pytest.mark.region(notice_user_restart='5m', profile='azure')\n"
        "def test_it(region):\n    region.vm('web-0')\n    event = region.restart('web-0')\n"
        "    assert (event.not_before - region.now()).seconds == 300\n"
        "@pytest.mark.region(profil='azure')\ndef test_typo(region): pass\n"
        "@pytest.mark.region('azure')\ndef test_unnamed(region): pass\n"
    )
    done = _pytest(tmp_path, test)

    assert "1 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert "@pytest.mark.region: a region of a test has no setting 'profil'; did you mean 'profile'?" in done.stdout
    assert "settings of a region are given by name" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_test_may_have_several_regions_and_each_tells_its_story(tmp_path: Path) -> None:
    test = (
        "def test_it(open_regions):\n    one, two = open_regions(), open_regions(notice_user_restart='1m')\n"
        "    one.vm('east'); two.vm('west')\n    assert one.url == two.url\n"
    )
    done = _pytest(tmp_path, test)

    assert done.returncode == 1
    assert done.stdout.count("forewarn: what happened in the region") == 2
    assert "east was made" in done.stdout
    assert "west was made" in done.stdout


def test_somebody_elses_region_fixture_stays_theirs(tmp_path: Path) -> None:
    test = "import pytest\n@pytest.fixture\ndef region(): return 'westeurope'\n"
    test += "def test_it(region): assert region == 'westeurope'\n"
    done = _pytest(tmp_path, test)

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_region_without_the_server_extra_says_so_in_a_sentence(tmp_path: Path) -> None:
    before = "import sys\nsys.modules['msgspec'] = None"
    done = _pytest(tmp_path, "def test_it(region): pass\n", before)

    assert done.returncode == 1
    assert (
        "forewarn.testing needs msgspec, a package of the server extra; "
        "install it in a clone of forewarn: pip install '.[server]'" in done.stdout
    )
    assert "Traceback" not in done.stdout
    assert _pytest(tmp_path, _PASSES, before).returncode == 0
