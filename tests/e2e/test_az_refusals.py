"""Bad input, through ``az`` and by hand: an error that says what is wrong, in the envelope, and nothing has changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forewarn.web.documents.whereabouts import SUBSCRIPTION
from tests.e2e.az_region import IMAGE, PASSWORD, UNIFORM, AzRegion
from tests.e2e.program import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/forewarn"
SETS = f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets"
WEB = f"{SETS}/web"
VERSION = "?api-version=2024-11-01"
TOO_NEW = (
    "Could not find member 'scheduledEventsProfile' on object of type 'VirtualMachineProfile'. "
    "Path 'properties.virtualMachineProfile.scheduledEventsProfile'"
)


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzRegion]:
    """One for all: no test changes its VMs."""
    with AzRegion.start(tmp_path_factory.mktemp("region")) as started:
        started.server.forewarn("vmss", "create", "web", "--capacity", "2", "--terminate-notice", "10m")
        yield started


@pytest.fixture
def unchanged(region: AzRegion) -> Iterator[None]:
    """The journal has not grown."""
    head = region.head()
    yield
    assert region.head() == head


@dataclass(frozen=True)
class Bad:
    """A request that must be refused."""

    status: int
    code: str
    said: str
    verb: str = "PUT"
    target: str = WEB + VERSION
    body: Any = None
    token: str | None = "Bearer any"


def profile(**members: Any) -> dict[str, Any]:
    return {"properties": {"virtualMachineProfile": members}}


def timeout(text: Any) -> dict[str, Any]:
    return profile(scheduledEventsProfile={"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": text}})


BAD = {
    "an unknown property": Bad(400, "BadRequest", "Could not find member 'colour'", body=profile(colour="red")),
    "a property that is too new": Bad(
        400, "BadRequest", TOO_NEW, target=f"{WEB}?api-version=2018-10-01", body=timeout("PT10M")
    ),
    "a number as a word": Bad(400, "InvalidParameter", "sku.capacity", body={"sku": {"name": "S", "capacity": "many"}}),
    "an object as a list": Bad(400, "InvalidParameter", "properties", body={"properties": []}),
    "a timeout as an object": Bad(400, "InvalidParameter", "notBeforeTimeout", body=timeout({"minutes": 10})),
    "a short timeout": Bad(400, "InvalidParameter", "between PT5M and PT15M", body=timeout("PT4M59S")),
    "a long timeout": Bad(400, "InvalidParameter", "between PT5M and PT15M", body=timeout("PT15M1S")),
    "no timeout at all": Bad(400, "InvalidParameter", "between PT5M and PT15M", body=timeout("ten minutes")),
    "too much capacity": Bad(400, "InvalidParameter", "sku.capacity", body={"sku": {"name": "S", "capacity": 1001}}),
    "no api-version": Bad(400, "MissingApiVersionParameter", "is required", target=WEB, body=timeout("PT5M")),
    "an odd api-version": Bad(400, "InvalidApiVersionParameter", "'new'", "GET", f"{WEB}?api-version=new"),
    "an unknown set": Bad(
        404,
        "ResourceNotFound",
        "The Resource 'Microsoft.Compute/virtualMachineScaleSets/none' under resource group 'forewarn' was not found.",
        "POST",
        f"{SETS}/none/delete{VERSION}",
        {"instanceIds": ["0"]},
    ),
    "an unknown instance": Bad(
        404, "NotFound", "The entity was not found", "DELETE", f"{WEB}/virtualMachines/7{VERSION}"
    ),
    "an unknown group": Bad(
        404,
        "ResourceGroupNotFound",
        "Resource group 'none' could not be found.",
        target=WEB.replace("/forewarn/", "/none/") + VERSION,
        body={"location": "westus", "sku": {"name": "S", "capacity": 1}},
    ),
    "a name with a slash": Bad(
        400, "InvalidResourceName", "a/b", target=f"{SETS}/a%2Fb{VERSION}", body={"location": "westus"}
    ),
    "a megabyte": Bad(413, "RequestContentTooLarge", "1000000 bytes", body={"location": "x" * 2**20}),
    "no JSON": Bad(400, "InvalidRequestContent", "could not be deserialized", body="{location"),
    "no token": Bad(401, "AuthenticationFailed", "", body=timeout("PT5M"), token=None),
    "an empty token": Bad(401, "InvalidAuthenticationToken", "", "DELETE", token="Bearer "),
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("what", BAD)
def test_bad_requests_are_refused(region: AzRegion, tmp_path: Path, what: str) -> None:
    bad = BAD[what]
    (tmp_path / "body").write_text(bad.body if isinstance(bad.body, str) else json.dumps(bad.body))

    status, answer = _curl(region, bad, tmp_path / "body")

    assert (status, answer["error"]["code"]) == (bad.status, bad.code)
    assert bad.said in answer["error"]["message"]


def _curl(region: AzRegion, bad: Bad, body: Path) -> tuple[int, dict[str, Any]]:
    fields = ["-H", "Content-Type: application/json"]
    if bad.token is not None:
        fields += ["-H", f"Authorization: {bad.token}"]
    if bad.body is not None:
        fields += ["--data-binary", f"@{body}"]
    authority = str(region.server.data / "tls" / "ca.pem")
    url = region.server.resource_manager + bad.target
    command = ["curl", "-sS", "--noproxy", "*", "--cacert", authority, "-X", bad.verb, *fields, "-w", "\n%{http_code}"]
    done = subprocess.run([*command, url], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True)
    answer, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(answer)


WEB_SET = "-g forewarn -n web"
TYPED = {
    "a short timeout": (
        f"vmss update {WEB_SET} --enable-terminate-notification true --terminate-notification-time 4",
        "(InvalidParameter) The value 'PT4M'",
        1,
    ),
    "too much capacity": (f"vmss scale {WEB_SET} --new-capacity 1001", "(InvalidParameter)", 1),
    "an unknown set": ("vmss scale -g forewarn -n none --new-capacity 1", "(ResourceNotFound)", 3),
    "an unknown instance": (
        f"vmss restart {WEB_SET} --instance-ids 7",
        "(InvalidParameter) The provided instanceId 7 is not an active",
        1,
    ),
    "an unknown property": (
        f"rest --method patch --url {WEB}{VERSION} --body " + '{"properties":{"colour":"red"}}',
        "Could not find member 'colour'",
        1,
    ),
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("what", TYPED)
def test_az_tells_what_is_wrong(region: AzRegion, what: str) -> None:
    command, said, status = TYPED[what]

    assert said in region.refused(command, status=status)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("-n", "api", "--terminate-notification-time", "16"), "between PT5M and PT15M"),
        (("-n", "a/b"), "a/b"),
    ],
)
def test_no_set_is_left_of_a_deployment_that_failed(region: AzRegion, more: tuple[str, ...], said: str) -> None:
    """What its template makes before the set stays, as it does in Azure."""
    error = region.refused("vmss create -g forewarn --instance-count 1", *more, *IMAGE, *PASSWORD, *UNIFORM)

    assert said in error
    assert region.names() == ["web_0", "web_1"]
    assert [each["name"] for each in region.server.json("vmss", "list")] == ["web"]
