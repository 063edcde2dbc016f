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
_TERMINATE = "TerminateScheduledEvents TerminateScheduledEventNotBeforeTimeoutInMinutes"
_OF_VMS = ("restart", "redeploy", "reimage", "stop", "deallocate", "start", "evict", "delete")

# From the syntax of each on learn.microsoft.com/powershell/module/az.compute, under its name in small letters, all of
# them looked up; the pages are made of src/Compute/Compute/help/NAME.md of Azure/azure-powershell. Parameters that no
# line uses are left out. The two that turn terminate notices on are also in the document on those notices.
CMDLETS = {
    "Restart-AzVM": _VM,
    "Set-AzVM": f"{_VM} Redeploy SimulateEviction",
    "Invoke-AzVMReimage": _VM,
    "Stop-AzVM": f"{_VM} StayProvisioned Force",
    "Start-AzVM": _VM,
    "Remove-AzVM": f"{_VM} Force",
    "Restart-AzVmss": _INSTANCE,
    "Set-AzVmss": f"{_INSTANCE} Redeploy Reimage",
    "Set-AzVmssVM": f"{_INSTANCE} SimulateEviction",
    "Stop-AzVmss": f"{_INSTANCE} StayProvisioned Force",
    "Start-AzVmss": _INSTANCE,
    "Remove-AzVmss": f"{_INSTANCE} Force",
    "Update-AzVmss": f"ResourceGroupName VMScaleSetName SkuCapacity {_TERMINATE}",
    "Update-AzVmssInstance": _INSTANCE,
    "New-AzVmssConfig": f"Location SkuCapacity SkuName UpgradePolicyMode {_TERMINATE}",
}


async def test_every_line_says_that_it_was_not_run_and_keeps_to_the_published_parameters(
    open_portal: OpenPortal,
) -> None:
    tried = set[str]()
    async with open_portal() as browser:
        await small(browser)
        of_instances = [f"/portal/do/{key}?vm=pool_0" for key in DEEDS if key in _OF_VMS]
        for path in [*of_instances, *[await filled_in(browser, key) for key in DEEDS]]:
            for door in (each for each in (await browser.page(path)).walk() if each.attributes.get("class") == "door"):
                if not door.text.startswith("PowerShell"):
                    continue
                for line in "".join(text for each in door.all("pre") for text in each.texts).strip().splitlines():
                    name = line.split()[0]
                    tried.add(name)
                    assert f"not run here. Source: az.compute/{name.lower()}." in door.text, path
                    words = re.sub(r"\([^)]*\)|'[^']*'", "", line)
                    assert set(re.findall(r" -(\w+)", words)) <= set(CMDLETS[name].split()), line
    assert tried == set(CMDLETS)


async def test_several_instances_are_several_texts(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/do/delete-instances?scale_set=pool&vm=pool_0&vm=pool_1")
    assert "-InstanceId '0','1' -Force" in page.text
