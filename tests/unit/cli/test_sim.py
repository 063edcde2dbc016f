"""``forewarn sim`` as people and programs use it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from forewarn.cli.main import main
from forewarn.settings.errors import Exit
from tests.waiting import until

_SMALL = ["--seed", "4", "--vms", "12", "--days", "0.2", "--pace", "6"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--vms", "3"], "--vms must be 12 to 5000."),
        (["--nodes", "9"], "--nodes must be 1 to 3."),
        (["--days", "0"], "is not a number of days"),
        (["--pace", "much"], "is not a pace"),
        (["--faults", "crash,rain"], "there is no fault 'rain'"),
        (["--seed", "-1"], "is not a whole number"),
        (["--timeline", "week.png"], "--timeline draws FILE.html or FILE.svg."),
    ],
)
def test_options_of_a_simulation_that_make_no_sense_are_refused_with_a_sentence(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", *words]) == Exit.USAGE
    said = capsys.readouterr()
    assert told in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_file_that_cannot_be_written_is_told_before_anything_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", "--record", str(tmp_path / "no" / "such")]) == Exit.FAILED
    assert "cannot be written" in capsys.readouterr().err


def test_a_simulation_ends_with_a_page_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", *_SMALL]) == Exit.OK
    said = capsys.readouterr().out
    for word in ("events", "ended", "warning used", "faults", "checked", "No violation."):
        assert word in said


def test_a_simulation_ends_with_json_for_programs_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", *_SMALL, "--faults", "none", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told["violations"] == []
    assert told["faults_injected"] == {}
    assert sum(told["events"].values()) == sum(told["ended"].values()) > 0
    assert told["replay"] == "forewarn sim --seed 4 --vms 12 --days 0.2 --faults none --nodes 1 --pace 6"


def test_a_violation_is_status_1_and_tells_how_to_see_it_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from forewarn.core.invariants import region as invariants

    monkeypatch.setattr(invariants, "violations_near", lambda *_: ["the sky has fallen"])
    assert main(["sim", *_SMALL]) == Exit.FAILED
    said = capsys.readouterr().out
    assert "the sky has fallen" in said
    assert "    forewarn sim --seed 4 --vms 12 --days 0.2 --faults all --nodes 1 --pace 6\n" in said
    assert "No violation" not in said


@pytest.mark.parametrize("suffix", [".html", ".svg"])
def test_a_timeline_stands_alone(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / f"week{suffix}"
    assert main(["sim", *_SMALL, "--timeline", str(picture)]) == Exit.OK
    text = picture.read_text()
    drawn = _drawn_in_svg(text) if suffix == ".svg" else _drawn_in_html(text)
    assert drawn & {"freeze", "reboot", "redeploy", "preempt", "terminate"}
    assert set(re.findall(r"https?://[^\"' <)]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in text


def _drawn_in_svg(text: str) -> set[str]:
    bars = [each for each in ElementTree.fromstring(text).iter() if each.tag.endswith("rect")]
    return {word for bar in bars for word in bar.get("class", "").split()}


def _drawn_in_html(text: str) -> set[str]:
    """What its script draws from."""
    data, _ = json.JSONDecoder().raw_decode(text, text.index("const DATA = ") + len("const DATA = "))
    return {bar[2].lower() for row in data["rows"] for bar in row["bars"]}


def test_an_interrupted_simulation_tells_what_was_seen_so_far(tmp_path: Path) -> None:
    record = tmp_path / "record"
    command = [sys.executable, "-m", "forewarn", "sim", "--days", "300", "--record", str(record)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        until(lambda: record.exists() and record.stat().st_size > 100_000, "something to happen")
        running.send_signal(signal.SIGINT)
        said, problems = running.communicate(timeout=60)
    assert running.returncode == Exit.INTERRUPTED, problems
    assert "Interrupted" in said
    assert "Traceback" not in problems
