"""For each deed what somebody would fill in, in the small region: every deed of the table has a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from forewarn.web.operator.desk import Desk
from forewarn.web.operator.schema.fleet_answers import EventAnswer
from forewarn.web.portal import written
from forewarn.web.portal.ahead import ahead
from tests.unit.web.portal.conftest import NOON, Browser

Given = dict[str, tuple[str, ...]]


def _vm(*names: str) -> Callable[[Browser], Given]:
    return lambda browser: {"vm": names}


def _events(browser: Browser) -> Given:
    """Those of the availability set, which wait."""
    found = [each.id for each in browser.plane.region.events.values() if each.scope == "availability-set/front"]
    return {"event": tuple(found[:1])}


def _campaign(browser: Browser) -> Given:
    return {"campaign": tuple(browser.plane.region.campaigns)[:1]}


def _fault(browser: Browser) -> Given:
    desk: Desk = browser.app.state.desk
    return {"fault": (desk.faults.list()[0].id,)}


SAMPLES: dict[str, Callable[[Browser], Given]] = {
    "restart": _vm("web-2"),
    "redeploy": _vm("web-2"),
    "reimage": _vm("web-2"),
    "stop": _vm("web-2", "lone"),
    "deallocate": _vm("web-2", "lone"),
    "start": _vm("off"),
    "evict": _vm("lone"),
    "delete": _vm("lone", "off"),
    "read": _vm("lone"),
    "create-vms": lambda browser: {
        "name": ("new",),
        "count": ("2",),
        "availability_set": ("front",),
        "tags": ("team=web\nx=a b",),
        "terminate_notice": ("5",),
        "size": ("Standard_D2s_v5",),
        "os_type": ("Linux",),
        "read": ("on",),
    },
    "approve": _events,
    "cancel": _events,
    "maintain": lambda browser: {"host": ("host-2",), "kind": ("reboot",)},
    "fail": lambda browser: {"host": ("host-2",)},
    "start-campaign": lambda browser: {"kind": ("freeze",), "host": ("host-2",), "hosts_at_once": ("1",)},
    "pause-campaign": _campaign,
    "resume-campaign": _campaign,
    "cancel-campaign": _campaign,
    "create-scale-set": lambda browser: {
        "name": ("fresh",),
        "capacity": ("3",),
        "tags": ("team=web\nstage=a b",),
        "notification": ("On",),
        "delay": ("10",),
        "os_image": ("On",),
        "upgrade": ("Automatic",),
        "scale_in": ("OldestVM",),
        "single_placement_group": ("On",),
        "all_instances_down": ("Off",),
    },
    "configure-scale-set": lambda browser: {"scale_set": ("pool",), "notification": ("On",), "delay": ("5",)},
    "scale": lambda browser: {"scale_set": ("pool",), "capacity": ("1",)},
    "upgrade-instances": lambda browser: {"scale_set": ("pool",), "vm": ("pool_0",)},
    "delete-instances": lambda browser: {"scale_set": ("pool",), "vm": ("pool_0", "pool_1")},
    "delete-scale-set": lambda browser: {"scale_set": ("pool",)},
    "protect-instance": lambda browser: {"scale_set": ("pool",), "vm": ("pool_0",)},
    "unprotect-instance": lambda browser: {"scale_set": ("pool",), "vm": ("pool_0",)},
    "set-policy": lambda browser: {
        "kind": ("availability-set",),
        "name": ("front",),
        "auto_approve_reboot": ("On",),
    },
    "clock-next": lambda browser: {},
    "clock-to": lambda browser: {"instant": ("2027-01-01T12:15:00Z",)},
    "clock-speed": lambda browser: {"speed": ("0",)},
    "create-dozen": lambda browser: {},
    "clock-advance": lambda browser: {"minutes": ("15",)},
    "fault-add": lambda browser: {"kind": ("gone",), "vm": ("web-0",), "times": ("3",)},
    "fault-clear": _fault,
}


async def filled_in(browser: Browser, key: str) -> str:
    """The address of the deed's page with the sample filled in."""
    return f"/portal/do/{key}?{urlencode(SAMPLES[key](browser), doseq=True)}"


def before_it_is_true(told: Any) -> str:
    """What the API tells of a dry run as if it were done, as a page says it of what is to come; at noon."""
    return written.told(ahead(told["message"], [EventAnswer.model_validate(each) for each in told["events"]]), NOON)
