"""``forewarn run``: a region around a command; its status is passed on, and a failure is told with what was asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, clean_environment

LANGUAGES = Path(__file__).parents[2] / "examples" / "languages"
_READ = """
import os, sys, urllib.request
url = os.environ["FOREWARN_ENDPOINT"] + "/metadata/scheduledevents?api-version=2020-07-01"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
request = urllib.request.Request(url, headers={"Metadata": "true"} if sys.argv[1] == "well" else {})
"""


def run(*arguments: str | Path, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{FOREWARN.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [FOREWARN, "run", *arguments],
        env=clean_environment(PATH=path, no_proxy="*", **more),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


def test_a_command_that_succeeds_finds_its_vm_and_says_nothing_more() -> None:
    done = run("--", sys.executable, "-c", f"{_READ}\nprint(opener.open(request).status)", "well")

    assert (done.returncode, done.stdout, done.stderr) == (0, "200\n", "")


def test_the_status_of_a_command_that_fails_is_passed_on_with_the_timeline() -> None:
    ask_wrongly = "for _ in range(3):\n    try: opener.open(request)\n    except Exception: pass\nsys.exit(7)"
    done = run("--vm", "web-0", "--vm", "web-1", "--", sys.executable, "-c", f"{_READ}\n{ask_wrongly}", "badly")

    assert (done.returncode, done.stdout) == (7, "")
    assert "forewarn: the command ended with status 7; what happened in the region:" in done.stderr
    assert "vm web-0      GET 400 ×3: Required metadata header not specified" in done.stderr
    assert "web-1 never asked" in done.stderr


def test_a_command_can_be_given_an_event_without_a_call_to_the_operator() -> None:
    done = run(
        "--type", "Preempt", "--clock", "real", "--", sys.executable, "-c",
        f"{_READ}\nprint(opener.open(request).read().decode())", "well",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert '"EventType":"Preempt"' in done.stdout
    assert done.stdout.count("\n") == 1  # standard output is the command's own


@pytest.mark.parametrize(
    ("command", "status", "sentence"),
    [
        ("no-such-command-here", 127, "there is no command 'no-such-command-here'"),
        ("/etc", 126, "'/etc' cannot be run"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(command: str, status: int, sentence: str) -> None:
    done = run("--", command)

    assert (done.returncode, done.stdout) == (status, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_servers_of_others_are_not_handed_on() -> None:
    shown = "import os; print(os.environ.get('FOREWARN_TOKEN'), os.environ['FOREWARN_URL'] == 'http://elsewhere')"
    done = run("--", sys.executable, "-c", shown, FOREWARN_TOKEN="secret", FOREWARN_URL="http://elsewhere")

    assert done.stdout == "None False\n"


def test_a_signal_is_handed_on_and_its_status_comes_back(tmp_path: Path) -> None:
    waits = "import time\nprint('up', flush=True)\ntime.sleep(600)"
    with subprocess.Popen(
        [FOREWARN, "run", "--", sys.executable, "-c", waits],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)

        assert process.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM


def test_the_recipe_for_jest_passes_under_node_and_fails_without_its_application(tmp_path: Path) -> None:
    recipe = (LANGUAGES / "jest" / "reboot.test.js").read_text()
    (tmp_path / "reboot.test.js").write_text(recipe)
    done = run("--", "node", "--test", ".", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr

    (tmp_path / "reboot.test.js").write_text(recipe.replace("  await myApplication();\n", ""))
    failed = run("--", "node", "--test", ".", cwd=tmp_path)
    assert failed.returncode == 1
    assert "web-0 never asked" in failed.stderr


def test_recipes_that_are_not_run_say_so() -> None:
    assert "NOT RUN HERE" in (LANGUAGES / "xunit" / "RebootTests.cs").read_text()
