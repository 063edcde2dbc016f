"""Lines for PowerShell are never run here. Each says so, names its source, and has only parameters that are there."""

from __future__ import annotations

import re

import pytest

from forewarn.web.portal.deeds import DEEDS
from tests.unit.web.portal.conftest import OpenPortal
from tests.unit.web.portal.regions import small
from tests.unit.web.portal.samples import filled_in

pytestmark = pytest.mark.anyio

_VM = "ResourceGroupName Name"
_INSTANCE = "ResourceGroupName VMScaleSetName InstanceId"
_DELAY = "TerminateScheduledEventNotBeforeTimeoutInMinutes"
_POLICIES = "UpgradePolicyMode ScaleInPolicy"
_OF_VMS = ("restart", "redeploy", "reimage", "stop", "deallocate", "start", "evict", "delete")

# From the syntax of each on learn.microsoft.com/powershell/module/az.compute (or az.maintenance), under its name in
# small letters, all of them looked up; the pages are made of src/*/*/help/NAME.md of Azure/azure-powershell. Parameters
# that no line uses are left out. What ends with an exclamation mark is a switch there: it takes no value, and one that
# followed it would be taken for another parameter's.
CMDLETS = {
    "Restart-AzVM": _VM,
    "Set-AzVM": f"{_VM} Redeploy! SimulateEviction!",
    "Invoke-AzVMReimage": _VM,
    "Stop-AzVM": f"{_VM} StayProvisioned! Force!",
    "Start-AzVM": _VM,
    "Remove-AzVM": f"{_VM} Force!",
    "Restart-AzVmss": _INSTANCE,
    "Set-AzVmss": f"{_INSTANCE} Redeploy! Reimage!",
    "Set-AzVmssVM": f"{_INSTANCE} SimulateEviction!",
    "Stop-AzVmss": f"{_INSTANCE} StayProvisioned! Force!",
    "Start-AzVmss": _INSTANCE,
    "Remove-AzVmss": f"{_INSTANCE} Force!",
    "Update-AzVmss": f"ResourceGroupName VMScaleSetName SkuCapacity TerminateScheduledEvents {_DELAY} {_POLICIES}",
    "Update-AzVmssInstance": _INSTANCE,
    "New-AzVmssConfig": f"Location SkuCapacity SkuName {_POLICIES} OrchestrationMode SinglePlacementGroup Priority "
    f"EvictionPolicy Tag TerminateScheduledEvents! {_DELAY} OSImageScheduledEventEnabled! "
    "OSImageScheduledEventNotBeforeTimeoutInMinutes",
    "Approve-AzScheduledEvent": "ResourceGroupName ResourceType ResourceName ScheduledEventId",
}
_SPOT = "/portal/do/create-scale-set?name=cheap&spot=On&eviction_policy=Delete&capacity=1"


def _parameters(line: str) -> list[str]:
    """Those of a line; what has no value is marked as the table marks it."""
    words = re.sub(r"\([^)]*\)[.\w]*|'[^']*'|@\{[^}]*\}", "VALUE", line)
    found = re.findall(r" -(\w+)(?: ([^\s-]\S*))?", words)
    return [name if value else f"{name}!" for name, value in found]


async def test_every_line_says_that_it_was_not_run_and_keeps_to_the_published_parameters(
    open_portal: OpenPortal,
) -> None:
    tried = set[str]()
    async with open_portal() as browser:
        await small(browser)
        of_instances = [f"/portal/do/{key}?vm=pool_0" for key in DEEDS if key in _OF_VMS]
        for path in [*of_instances, _SPOT, *[await filled_in(browser, key) for key in DEEDS]]:
            for door in (each for each in (await browser.page(path)).walk() if each.attributes.get("class") == "door"):
                if not door.text.startswith("PowerShell"):
                    continue
                for line in "".join(text for each in door.all("pre") for text in each.texts).strip().splitlines():
                    name = line.split()[0]
                    tried.add(name)
                    module = "maintenance" if "ScheduledEvent" in name else "compute"
                    assert f"not run here. Source: az.{module}/{name.lower()}." in door.text, path
                    assert set(_parameters(line)) <= set(CMDLETS[name].split()), line
    assert tried == set(CMDLETS)


def test_a_switch_that_is_given_a_value_is_not_in_the_table() -> None:
    """As the line of a new set once was: the value would have gone to the first parameter that has a place."""
    wrong = "New-AzVmssConfig -SkuName 'a b' -TerminateScheduledEvents $true"
    assert set(_parameters(wrong)) - set(CMDLETS["New-AzVmssConfig"].split()) == {"TerminateScheduledEvents"}


async def test_several_instances_are_several_texts(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/do/delete-instances?scale_set=pool&vm=pool_0&vm=pool_1")
    assert "-InstanceId '0','1' -Force" in page.text


async def test_of_vms_and_instances_that_are_chosen_together_each_has_its_line(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/do/restart?vm=web-2&vm=pool_0")
    assert "Restart-AzVM -ResourceGroupName 'forewarn' -Name 'web-2'" in page.text
    assert "Restart-AzVmss -ResourceGroupName 'forewarn' -VMScaleSetName 'pool' -InstanceId '0'" in page.text
