"""What a scale set is made of, as forms ask for it, and as the operator's bodies want it.

The words are those of the steps that are published for Azure's portal: Management, Instance termination, Instance
termination notification, Termination delay (minutes).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.core.specs import DEFAULT_RESOURCE_GROUP, VmSpec
from forewarn.web.operator.schema.scale_set_answers import ScaleSetAnswer
from forewarn.web.portal.forms import Filled, FormField, Given, NotRight

_ON_OFF = ("On", "Off")
_PLAIN = ("name", "resource_group", "orchestration", "capacity", "size", "os_type", "eviction_policy", "tags")
POLICY = ("auto_approve_reboot", "auto_approve_redeploy", "all_instances_down")
OS_IMAGE_SECONDS = 900  # the Compute API's only value: PT15M


def _switch(name: str, label: str, hint: str = "", default: str = "Off") -> FormField:
    """On or Off by name: what is not sent by a checkbox could not be told from what was never asked."""
    return FormField(name, label, "choice", choices=_ON_OFF, default=default, hint=hint)


BASICS = (
    FormField("name", "Scale set name", required=True, longest=64, hint="Instances are called NAME_0, NAME_1, …"),
    FormField("resource_group", "Resource group", default=DEFAULT_RESOURCE_GROUP, longest=90),
    FormField(
        "orchestration", "Orchestration mode", "choice", choices=("Uniform", "Flexible"), default="Uniform",
        hint="How instances are named and kept; it cannot be changed later.",
    ),
    FormField("capacity", "Instance count", "whole", default="2", longest=5),
    FormField("size", "Size", default=VmSpec().size),
    FormField("os_type", "Operating system", "choice", choices=("Linux", "Windows"), default="Linux"),
    _switch("spot", "Spot instances", "They may be evicted, with 30 seconds of notice."),
    FormField("eviction_policy", "Eviction policy", "choice", choices=("Deallocate", "Delete"), default="Deallocate"),
    _switch("single_placement_group", "One placement group", "All instances in one, 100 at most; they share events."),
    FormField("tags", "Tags", "tags", hint="One on a line, like team=web.", longest=4096),
)  # fmt: skip
UPGRADE = FormField(
    "upgrade", "Upgrade policy", "choice", choices=("Manual", "Automatic", "Rolling"), default="Manual",
    hint="When instances take over a new model: when told to, at once, or batch by batch.",
)  # fmt: skip
SCALE_IN = FormField(
    "scale_in", "Scale-in policy", "choice", choices=("Default", "NewestVM", "OldestVM"), default="Default",
    hint="Which instances go first when fewer are wanted.",
)  # fmt: skip
NOTIFICATION = _switch("notification", "Instance termination notification")
DELAY = FormField(
    "delay", "Termination delay (minutes)", "minutes", default="10", longest=5, hint="5 to 15, from the event on."
)
OS_IMAGE = _switch("os_image", "OS image notification", "15 minutes before an instance gets a fresh OS disk.")
SWITCHES = (
    _switch("auto_approve_reboot", "Approve restarts by users at once"),
    _switch("auto_approve_redeploy", "Approve redeploys by users at once"),
    _switch("all_instances_down", "Approve events whose VMs are all stopped", default="On"),
)
MANAGEMENT = (UPGRADE, SCALE_IN, NOTIFICATION, DELAY, OS_IMAGE, *SWITCHES)
FORM = (*BASICS, *MANAGEMENT)


def values_of(filled: Filled) -> dict[str, Any]:
    """The body of a new scale set, or of a change: whatever of the form was asked for."""
    given = filled.values
    body = {key: given[key] for key in _PLAIN if key in given}
    body |= {key: given[key] == "On" for key in ("spot", "single_placement_group") if key in given}
    body |= {key: given[key] for key in ("upgrade", "scale_in") if key in given}
    body["terminate_notice_seconds"] = _delay(given)
    body["os_image_notice_seconds"] = OS_IMAGE_SECONDS if given.get("os_image") == "On" else None
    body["policy"] = {key: given[key] == "On" for key in POLICY if key in given}
    return body


def _delay(given: Mapping[str, Any]) -> float | None:
    if given.get("notification") != "On":
        return None
    if given.get("delay") is None:
        raise NotRight(f"{DELAY.label} is missing: choose 5 to 15.", DELAY.name)
    found: float = given["delay"]
    return found


def form_of(scale_set: ScaleSetAnswer) -> Given:
    """A scale set as somebody would have filled in the management form."""
    notice, policy = scale_set.terminate_notice_seconds, scale_set.policy.model_dump()
    texts = {
        "upgrade": scale_set.upgrade,
        "scale_in": scale_set.scale_in,
        "notification": "Off" if notice is None else "On",
        "delay": DELAY.default if notice is None else f"{notice / 60:g}",
        "os_image": "Off" if scale_set.os_image_notice_seconds is None else "On",
        **{key: "On" if policy[key] else "Off" for key in POLICY},
    }
    return {name: (text,) for name, text in texts.items()}
