"""A story saved as a test: the real pytest runs it, it passes, and fails when the handler approves nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn.core.commands import Approve
from forewarn.plane.ports import Origin

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio
_APPROVAL = "            client.approve(event.event_id)\n"


def _run(tmp_path: Path, *modules: str) -> subprocess.CompletedProcess[str]:
    """pytest of its own, with nothing of ours but what is installed; one file for each story."""
    for number, module in enumerate(modules):
        (tmp_path / f"test_story_{number}.py").write_text(module)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "-rA", str(tmp_path)]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)


def _ended(run: subprocess.CompletedProcess[str]) -> list[str]:
    """How each story ended, in their order."""
    lines = re.findall(r"^(PASSED|FAILED|ERROR) test_story_(\d+)", run.stdout, re.MULTILINE)
    return [how for how, _ in sorted(lines, key=lambda line: int(line[1]))]


async def _approved(bench: Bench, event_id: str, vm: str) -> None:
    await bench.post("/v1/clock/advance", {"seconds": 180})
    scope = bench.plane.region.events[event_id].scope
    await bench.plane.submit(Approve((event_id,), vm, scope), Origin("vm", vm))
    await bench.post("/v1/clock/advance", {"seconds": 3600})


async def _exported(bench: Bench, event_id: str) -> str:
    answer = await bench.client.get("/v1/export/test", params={"event": event_id.lower()})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/x-python")
    return answer.text


async def test_an_approved_restart_is_a_test_that_passes_and_fails_without_the_approval(
    bench: Bench, tmp_path: Path
) -> None:
    await bench.create("web", count=2, availability_set="front", read=True)
    (event,) = (await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202))["events"]
    await _approved(bench, event["id"], "web-0")
    before = bench.plane.seq

    module = await _exported(bench, event["id"])

    assert bench.plane.seq == before
    assert "region.advance(seconds=180)" in module
    assert _APPROVAL in module
    run = _run(tmp_path, module, module.replace(_APPROVAL, "            pass\n"))
    assert _ended(run) == ["PASSED", "FAILED"], run.stdout
    assert "Nobody has approved" in run.stdout


async def test_stories_without_an_approval_and_of_other_kinds_pass_too(bench: Bench, tmp_path: Path) -> None:
    await bench.create("web", availability_set="front", read=True)
    await bench.create("cheap", spot=True, read=True)
    await bench.create("old", terminate_notice_seconds=300, read=True)
    ids = [
        (await bench.post("/v1/vms/redeploy", {"names": ["web"]}, 202))["events"][0]["id"],
        (await bench.post("/v1/vms/evict", {"names": ["cheap"]}, 202))["events"][0]["id"],
        (await bench.post("/v1/vms/delete", {"names": ["old"]}, 202))["events"][0]["id"],
    ]
    await bench.post("/v1/clock/advance", {"seconds": 7200})
    host = (await bench.get("/v1/vms/web"))["host"]
    canceled = (await bench.post("/v1/hosts/maintain", {"hosts": [host], "kind": "freeze"}, 202))["events"][0]["id"]
    await bench.post("/v1/clock/advance", {"seconds": 60})
    await bench.post("/v1/events/cancel", {"ids": [canceled]})

    modules = [await _exported(bench, event_id) for event_id in (*ids, canceled)]

    assert not any("handler" in module for module in modules)
    run = _run(tmp_path, *modules)
    assert (_ended(run), run.returncode) == (["PASSED"] * 4, 0), run.stdout
    assert "region.cancel(event)" in modules[3]
    assert "spot=True" in modules[1]
    assert "terminate_notice=timedelta(seconds=300)" in modules[2]


async def test_what_cannot_be_saved_is_refused(bench: Bench) -> None:
    await bench.create("web", os_image_notice_seconds=900, read=True)
    (event,) = (await bench.post("/v1/vms/reimage", {"names": ["web"]}, 202))["events"]

    assert "cannot reimage" in await bench.refused(400, "GET", "/v1/export/test", params={"event": event["id"]})
    assert "nobody" in (await bench.refused(404, "GET", "/v1/export/test", params={"event": "nobody"})).lower()
    await bench.refused(400, "GET", "/v1/export/test")


async def test_a_stretch_of_the_journal_is_a_module_with_a_test_for_each_event(bench: Bench, tmp_path: Path) -> None:
    await bench.create("web", count=2, availability_set="front", read=True)
    await bench.create("image", os_image_notice_seconds=900, read=True)
    await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202)
    await bench.post("/v1/clock/advance", {"seconds": 3600})
    before = bench.plane.seq
    (again,) = (await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202))["events"]
    await bench.post("/v1/vms/reimage", {"names": ["image"]}, 202)
    await _approved(bench, again["id"], "web-0")
    await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202)

    module = (await bench.client.get("/v1/export/test", params={"after": before})).text

    assert module.count("def test_") == 2
    assert "# Left out: Reboot of image. The test kit cannot reimage a VM." in module
    assert "def test_reboot_of_web_0_2(" in module
    assert "2 passed" in _run(tmp_path, module).stdout
    assert "1 failed, 1 passed" in _run(tmp_path, module.replace(_APPROVAL, "            pass\n")).stdout
    whole = (await bench.client.get("/v1/export/test", params={"after": 0, "to": bench.plane.seq})).text
    assert whole.count("def test_") == 3


@pytest.mark.parametrize(
    ("asked", "status", "sentence"),
    [
        ({}, 400, "Name an event, or a stretch"),
        ({"event": "X", "after": 0}, 400, "Name an event, or a stretch"),
        ({"after": 0, "to": 0}, 404, "No event was made after record 0 and up to 0."),
        ({"after": -1}, 400, "after"),
    ],
)
async def test_a_stretch_without_events_or_sense_is_refused(
    bench: Bench, asked: dict[str, str | int], status: int, sentence: str
) -> None:
    answer = await bench.client.get("/v1/export/test", params=asked)
    assert (answer.status_code, sentence in answer.text) == (status, True), answer.text
