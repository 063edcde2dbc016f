"""The drawer "How to do this": what it offers at other doors is taken by the real ``az`` and the real ``curl``."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import pytest

from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.forms import fill
from tests.e2e.az import Az
from tests.e2e.az_region import AzRegion
from tests.e2e.program import PATIENCE_SECONDS, ServerProgram, ask
from tests.portal.regions import look, tell
from tests.unit.web.portal.conftest import Browser
from tests.unit.web.portal.regions import small
from tests.unit.web.portal.samples import SAMPLES, Given

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_DOOR = re.compile(
    r'<p class="door-name">([^<]+?) ?(?:<button[^<]*</button>)?</p>\s*(?:<pre class="code">(.*?)</pre>)?', re.DOTALL
)
# after these there is less to try
_LAST = ("clock-to", "delete-instances", "scale", "delete-scale-set", "evict", "fail", "delete")
_PAGES = ("vms", "vms/lone", "vms/web-0", "scale-sets", "scale-sets/pool", "availability-sets")  # that az can show too

# Run by az's own Python: the way of a command until its words are parsed, and no further.
_PARSE = """
import shlex, sys
from azure.cli.core import get_default_cli
from knack.events import EVENT_INVOKER_POST_PARSE_ARGS

class Parsed(BaseException):
    pass

def stop(cli, **told):
    raise Parsed

for line in sys.stdin.read().split("\\0"):
    az = get_default_cli()
    az.register_event(EVENT_INVOKER_POST_PARSE_ARGS, stop)
    try:
        az.invoke(shlex.split(line)[1:])
    except Parsed:
        continue
    except SystemExit:
        pass
    print(line)
"""

# what a template says of a VM, as the operator API tells it
_CHOSEN = ("spot", "terminate_notice_seconds", "os_image_notice_seconds", "size", "os_type", "tags", "resource_group")
_ALONE: Given = {
    "availability_set": ("",),
    "count": ("1",),
    "spot": ("on",),
    "terminate_notice": ("",),
    "os_image_notice": ("15",),
    "tags": ("x=[y]",),
}
_NOBODY = cast("Browser", None)  # most samples ask nothing of the region


class _Remote:
    """What ``small`` asks a region for, by a real socket."""

    def __init__(self, server: ServerProgram) -> None:
        self._server = server

    async def ask(self, path: str, body: Any, status: int = 202) -> Any:
        return tell(self._server, path, body)


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzRegion]:
    with AzRegion.start(tmp_path_factory.mktemp("region")) as started:
        asyncio.run(small(cast("Browser", _Remote(started.server))))
        yield started


def _events(server: ServerProgram) -> Given:
    return {"event": (look(server, "/v1/events?phase=scheduled")["events"][0]["id"],)}


def _campaign(server: ServerProgram) -> Given:
    return {"campaign": (look(server, "/v1/campaigns")["campaigns"][0]["id"],)}


def _fault(server: ServerProgram) -> Given:
    return {"fault": (look(server, "/v1/faults")["faults"][0]["id"],)}


_FOUND: dict[str, Callable[[ServerProgram], Given]] = {
    "approve": _events,
    "cancel": _events,
    "pause-campaign": _campaign,
    "resume-campaign": _campaign,
    "cancel-campaign": _campaign,
    "fault-clear": _fault,
}


def doors(server: ServerProgram, key: str) -> dict[str, str]:
    return shown_at(server, key, _FOUND[key](server) if key in _FOUND else SAMPLES[key](_NOBODY))


def shown_at(server: ServerProgram, key: str, given: Given) -> dict[str, str]:
    """Door -> what is to be copied there, on the page of a deed whose form is filled in."""
    return drawer(server, f"/portal/do/{key}?{urlencode(given, doseq=True)}")


def drawer(server: ServerProgram, path: str) -> dict[str, str]:
    answer = ask(server.control, path, {})
    assert answer.status == 200, path
    return {door: unescape(text).strip() for door, text in _DOOR.findall(answer.body.decode())}


def refused_by_az(az: Az, lines: list[str]) -> list[str]:
    """Those that its own parser does not take."""
    done = subprocess.run(
        [str(az.program.with_name("python")), "-c", _PARSE],
        input="\0".join(lines),
        env=dict(az.environment),
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_line_for_az_is_one_that_the_real_az_takes(region: AzRegion) -> None:
    lines = [line for key in DEEDS for line in doors(region.server, key).get("az", "").splitlines()]
    assert len(lines) >= 15
    shown = [line for page in _PAGES for line in drawer(region.server, f"/portal/{page}")["az"].splitlines()]
    assert len(shown) > len(_PAGES)
    lines += shown
    wrong = ["az vm restart --name web-0", "az vmss update -g g -n n --terminate-notification-minutes 5"]
    assert refused_by_az(region.az, [*lines, *wrong]) == wrong


def test_the_template_of_a_new_set_makes_with_az_what_the_page_makes(region: AzRegion, tmp_path: Path) -> None:
    deed, given = DEEDS["create-scale-set"], SAMPLES["create-scale-set"](_NOBODY) | {"name": ("made",)}
    deploy(region, tmp_path, deed.key, given)
    call = deed.call(fill(deed.fields, given))
    tell(region.server, call.path, {**call.body, "name": "twin"})
    made, twin = (look(region.server, f"/v1/scale-sets/{name}") for name in ("made", "twin"))
    assert _plain(made) == _plain(twin)


def test_the_template_of_a_change_makes_with_az_the_change_that_the_page_makes(
    region: AzRegion, tmp_path: Path
) -> None:
    tell(region.server, "/v1/scale-sets", {"name": "kept", "capacity": 2, "tags": {"team": "web"}})
    deed, given = DEEDS["configure-scale-set"], SAMPLES["configure-scale-set"](_NOBODY) | {"scale_set": ("kept",)}
    deploy(region, tmp_path, deed.key, given)
    changed = look(region.server, "/v1/scale-sets/kept")
    assert (changed["terminate_notice_seconds"], changed["tags"], changed["capacity"]) == (300, {"team": "web"}, 2)
    call = deed.call(fill(deed.fields, given))
    tell(region.server, call.path, call.body, call.method)
    assert look(region.server, "/v1/scale-sets/kept") == changed, "the page has nothing left to change"


@pytest.mark.parametrize(
    ("chosen", "numbers"),
    [
        ({"name": ("made",), "availability_set": ("fresh",)}, ("-0", "-1")),
        ({"name": ("made",), **_ALONE}, ("",)),
    ],
    ids=["in-a-set-that-is-new-too", "alone"],
)
def test_the_template_of_new_vms_makes_with_az_what_the_page_makes(
    region: AzRegion, tmp_path: Path, chosen: Given, numbers: tuple[str, ...]
) -> None:
    deed, given = DEEDS["create-vms"], {**SAMPLES["create-vms"](_NOBODY), "read": ("",), **chosen}
    deploy(region, tmp_path, deed.key, given)
    call = deed.call(fill(deed.fields, given))
    tell(region.server, call.path, {**call.body, "name": "twin"})
    for number in numbers:
        made, twin = (look(region.server, f"/v1/vms/{name}{number}") for name in ("made", "twin"))
        assert {key: made[key] for key in _CHOSEN} == {key: twin[key] for key in _CHOSEN}
        assert made["scope"].replace("made", "twin") == twin["scope"]


def deploy(region: AzRegion, directory: Path, key: str, given: Given) -> None:
    """The template that the page of a deed shows, from a file."""
    template = directory / "template.json"
    template.write_text(shown_at(region.server, key, given)["ARM template"])
    region.run("deployment group create -g forewarn -n portal", "--template-file", str(template))


def _plain(scale_set: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, without what tells one set from another."""
    told = {"name", "scopes", "created_at", "changed_at", "instances", "resource_group"}
    return {key: value for key, value in scale_set.items() if key not in told}


def test_every_line_for_curl_does_what_it_says_when_it_is_run(region: AzRegion) -> None:
    server = region.server
    done = []
    for key in sorted(DEEDS, key=lambda each: _LAST.index(each) if each in _LAST else -1):
        tell(server, "/v1/vms/start", {"names": ["lone", "web-2"]})
        for line in doors(server, key)["curl"].splitlines():
            run = subprocess.run(
                ["sh", "-c", line], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
            )
            answer = json.loads(run.stdout) if run.stdout else {}
            assert not {"error", "detail"} & set(answer), (line, run.stdout)
        done.append(key)
    assert set(done) == set(DEEDS)
    assert "pool" not in [each["name"] for each in look(server, "/v1/scale-sets")["scale_sets"]]
