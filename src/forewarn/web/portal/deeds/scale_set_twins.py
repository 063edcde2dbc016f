"""A scale set at the other doors: how it is made and changed with ``forewarn``, ``az``, PowerShell and a template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forewarn.web.portal.deeds.arm_templates import events_profile, resource, template
from forewarn.web.portal.deeds.scale_set_form import POLICY
from forewarn.web.portal.doors.twins import NOT_RUN, Twin, az, forewarn

_USUAL = {
    "capacity": 2, "orchestration": "Uniform", "resource_group": "forewarn", "os_type": "Linux", "upgrade": "Manual",
    "scale_in": "Default", "eviction_policy": "Deallocate", "size": "Standard_D2s_v5",
}  # fmt: skip
_DELAY = "-TerminateScheduledEventNotBeforeTimeoutInMinutes"
_OS_IMAGE = "-OSImageScheduledEventEnabled -OSImageScheduledEventNotBeforeTimeoutInMinutes 'PT15M'"  # its only value
_NEEDS_IMAGE = "az wants an image and a user too; the region keeps them, and runs nothing."


def creating(body: Mapping[str, Any]) -> tuple[Twin, ...]:
    """``body`` is that of the operator's request."""
    name, group = body["name"], body.get("resource_group", "forewarn")
    words = ["vmss", "create", name, *_plain_options(body), *_notices(body), *_switches(body, POLICY)]
    return (
        forewarn(words),
        az(["vmss", "create", "-g", group, "-n", name, *_az_options(body)], note=_NEEDS_IMAGE),
        _power_shell("New-AzVmssConfig", _config_words(body), "az.compute/new-azvmssconfig"),
        template(_resource(body)),
    )


def changing(group: str, name: str, body: Mapping[str, Any], there: Mapping[str, Any]) -> tuple[Twin, ...]:
    """``there`` is the set as the operator face tells it: a template says all of it, also what stays as it is."""
    notice = body["terminate_notice_seconds"]
    az_words = ["--enable-terminate-notification", "true" if notice else "false"]
    if notice:
        az_words += ["--terminate-notification-time", f"{notice / 60:g}"]
    az_words += ["--enable-osimage-notification", "true" if body["os_image_notice_seconds"] else "false"]
    az_words += ["--upgrade-policy-mode", body["upgrade"], "--scale-in-policy", body["scale_in"]]
    az_words += policy_options(body["policy"])
    shell = [f"-ResourceGroupName {_quoted(group)}", f"-VMScaleSetName {_quoted(name)}", *_terminate_words(notice)]
    shell += [f"-UpgradePolicyMode {_quoted(body['upgrade'])}", f"-ScaleInPolicy {_quoted(body['scale_in'])}"]
    words = ["vmss", "update", name, "--upgrade", body["upgrade"], "--scale-in", body["scale_in"]]
    return (
        forewarn([*words, *_notices(body, always=True), *_switches(body, POLICY, always=True)]),
        az(["vmss", "update", "-g", group, "-n", name, *az_words]),
        _power_shell("Update-AzVmss", shell, "az.compute/update-azvmss"),
        template(_resource({**there, **body})),
    )


def _plain_options(body: Mapping[str, Any]) -> Iterator[str]:
    for key in ("capacity", "orchestration", "resource_group", "size", "os_type", "eviction_policy"):
        if body.get(key, _USUAL[key]) != _USUAL[key]:
            yield from (f"--{key.replace('_', '-')}", str(body[key]))
    for key in ("upgrade", "scale_in"):
        if body.get(key, _USUAL[key]) != _USUAL[key]:
            yield from (f"--{key.replace('_', '-')}", body[key])
    yield from (f"--{key.replace('_', '-')}" for key in ("spot", "single_placement_group") if body.get(key))
    for tag, value in (body.get("tags") or {}).items():
        yield f"--tag={tag}={value}"


def _notices(body: Mapping[str, Any], always: bool = False) -> Iterator[str]:
    for key in ("terminate_notice", "os_image_notice"):
        seconds = body.get(f"{key}_seconds")
        if seconds or always:
            yield from (f"--{key.replace('_', '-')}", f"{seconds:g}s" if seconds else "none")


def _switches(body: Mapping[str, Any], keys: tuple[str, ...], always: bool = False) -> Iterator[str]:
    usual = {"all_instances_down": True}
    for key in keys:
        wanted = body["policy"].get(key)
        if wanted is not None and (always or wanted != usual.get(key, False)):
            yield f"--{'' if wanted else 'no-'}{key.replace('_', '-')}"


def _az_options(body: Mapping[str, Any]) -> Iterator[str]:
    yield from ("--image", "Ubuntu2204", "--admin-username", "azureuser", "--generate-ssh-keys")
    yield from ("--orchestration-mode", body["orchestration"], "--instance-count", str(body["capacity"]))
    yield from ("--vm-sku", body["size"], "--upgrade-policy-mode", body["upgrade"])
    if body["spot"]:
        yield from ("--priority", "Spot", "--eviction-policy", body["eviction_policy"])
    if body["terminate_notice_seconds"]:
        yield from ("--terminate-notification-time", f"{body['terminate_notice_seconds'] / 60:g}")
    if body.get("os_image_notice_seconds"):
        yield from ("--enable-osimage-notification", "true")
    if body.get("scale_in", _USUAL["scale_in"]) != _USUAL["scale_in"]:
        yield from ("--scale-in-policy", body["scale_in"])
    if body.get("single_placement_group"):
        yield from ("--single-placement-group", "true")
    yield from policy_options(body["policy"])
    if tags := body.get("tags"):
        yield from ("--tags", *(f"{tag}={value}" for tag, value in tags.items()))


def policy_options(policy: Mapping[str, bool]) -> list[str]:
    """Which events nobody has to approve, in az's words."""
    words = {
        "auto_approve_reboot": "--enable-reboot",
        "auto_approve_redeploy": "--enable-redeploy",
        "all_instances_down": "--enable-all-instance-down",
    }
    return [word for key in words if key in policy for word in (words[key], "true" if policy[key] else "false")]


def _config_words(body: Mapping[str, Any]) -> list[str]:
    """As the cmdlet's reference has them: what is on or off here is a switch there, which takes no value."""
    notice, tags = body["terminate_notice_seconds"], body.get("tags") or {}
    return [
        f"-Location (Get-AzResourceGroup -Name {_quoted(body.get('resource_group', 'forewarn'))}).Location",
        f"-SkuCapacity {body['capacity']}",
        f"-SkuName {_quoted(body['size'])}",
        f"-UpgradePolicyMode {_quoted(body['upgrade'])}",
        f"-OrchestrationMode {_quoted(body['orchestration'])}",
        f"-ScaleInPolicy {_quoted(body.get('scale_in', _USUAL['scale_in']))}",
        *(("-SinglePlacementGroup $true",) if body.get("single_placement_group") else ()),
        *((f"-Priority 'Spot' -EvictionPolicy {_quoted(body['eviction_policy'])}",) if body["spot"] else ()),
        *((f"-TerminateScheduledEvents {_DELAY} {notice / 60:g}",) if notice else ()),
        *((_OS_IMAGE,) if body.get("os_image_notice_seconds") else ()),
        *((f"-Tag @{{{'; '.join(f'{_quoted(tag)} = {_quoted(tags[tag])}' for tag in tags)}}}",) if tags else ()),
    ]


def _terminate_words(notice: float | None) -> list[str]:
    if not notice:
        return ["-TerminateScheduledEvents $false"]
    return ["-TerminateScheduledEvents $true", f"{_DELAY} {notice / 60:g}"]


def _power_shell(cmdlet: str, words: list[str], source: str) -> Twin:
    return Twin("PowerShell", (" ".join([cmdlet, *words]),), f"{NOT_RUN} Source: {source}.")


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _resource(body: Mapping[str, Any]) -> dict[str, Any]:
    return resource(
        "Microsoft.Compute/virtualMachineScaleSets",
        body["name"],
        body.get("tags"),
        sku={"name": body["size"], "capacity": body["capacity"]},
        properties={
            "orchestrationMode": body["orchestration"],
            "singlePlacementGroup": body["single_placement_group"],
            **_properties(body),
        },
    )


def _properties(body: Mapping[str, Any]) -> dict[str, Any]:
    policy, profile = body["policy"], dict[str, Any]()
    if body.get("spot"):
        profile |= {"priority": "Spot", "evictionPolicy": body["eviction_policy"]}
    profile["scheduledEventsProfile"] = events_profile(
        body["terminate_notice_seconds"], body["os_image_notice_seconds"]
    )
    return {
        "upgradePolicy": {"mode": body["upgrade"]},
        "scaleInPolicy": {"rules": [body["scale_in"]]},
        "scheduledEventsPolicy": {
            "userInitiatedReboot": {"automaticallyApprove": policy["auto_approve_reboot"]},
            "userInitiatedRedeploy": {"automaticallyApprove": policy["auto_approve_redeploy"]},
            "allInstancesDown": {"automaticallyApprove": policy["all_instances_down"]},
        },
        "virtualMachineProfile": profile,
    }
