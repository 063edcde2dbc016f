"""scheduledEventsProfile and scheduledEventsPolicy: between their JSON and what the region makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from forewarn.core.deciding.fleet import OS_IMAGE_NOTICE, TERMINATE_NOTICE
from forewarn.core.specs import Policy
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.errors import invalid
from forewarn.wire.json_bytes import WireError
from forewarn.wire.times import format_iso_duration, parse_iso_duration

TERMINATE = "terminateNotificationProfile"
OS_IMAGE = "osImageNotificationProfile"
_TIMEOUT = "notBeforeTimeout"


@dataclass(frozen=True)
class _Allowed:
    shortest: timedelta
    longest: timedelta
    sentence: str


_ALLOWED = {
    TERMINATE: _Allowed(*TERMINATE_NOTICE, "must be an ISO 8601 duration between PT5M and PT15M"),
    OS_IMAGE: _Allowed(OS_IMAGE_NOTICE, OS_IMAGE_NOTICE, "must be PT15M"),
}


@dataclass(frozen=True)
class Notices:
    """How long before a deletion, and before a new OS image, an instance is told."""

    terminate: timedelta | None = None
    os_image: timedelta | None = None


def settle_profile(profile: Object, at: str) -> tuple[Object, Notices]:
    """The profile as it is kept after a change, and what it means. ``at`` is its path, for errors.

    Enabled without a timeout gets the default one; disabled is removed.
    """
    kept: Object = {}
    notices: dict[str, timedelta | None] = {}
    for name, part in profile.items():
        if name not in _ALLOWED:  # of an api-version newer than what is known here
            kept[name] = part
            continue
        notice = _timeout(name, part, at)
        if part.get("enable") is False:
            continue
        kept[name] = {**part, _TIMEOUT: part.get(_TIMEOUT, format_iso_duration(notice))} if part.get("enable") else part
        notices[name] = notice if part.get("enable") else None
    return kept, Notices(notices.get(TERMINATE), notices.get(OS_IMAGE))


def _timeout(name: str, part: Object, at: str) -> timedelta:
    allowed, text = _ALLOWED[name], part.get(_TIMEOUT)
    if text is None:
        return allowed.shortest
    target = f"{at}.{name}.{_TIMEOUT}"
    try:
        found = parse_iso_duration(text)
    except WireError:
        found = timedelta(0)
    if not allowed.shortest <= found <= allowed.longest:
        raise invalid(target, f"The value '{text[:40]}' of '{target}' is not valid: it {allowed.sentence}.")
    return found


def shown_profile(kept: Object | None, notices: Notices) -> Object | None:
    """The profile of something that has these notices: as it was written, if that still says so."""
    if kept is not None and settle_profile(kept, "")[1] == notices:
        return kept
    shown: Object = {}
    for name, notice in ((TERMINATE, notices.terminate), (OS_IMAGE, notices.os_image)):
        if notice is not None:
            shown[name] = {_TIMEOUT: format_iso_duration(notice), "enable": True}
    return shown if shown or kept is not None else None


# The policy

_APPROVE = "automaticallyApprove"
_DEFAULTS = {"userInitiatedRedeploy": False, "userInitiatedReboot": False, "allInstancesDown": True}


def settle_policy(policy: Object) -> tuple[Object, Policy]:
    """The policy as it is kept after a change, and what it means. An empty part says the default."""
    kept = dict(policy)
    for name, default in _DEFAULTS.items():
        if name in kept:
            kept[name] = {_APPROVE: default, **kept[name]}
    return kept, Policy(
        auto_approve_redeploy=_approves(kept, "userInitiatedRedeploy"),
        auto_approve_reboot=_approves(kept, "userInitiatedReboot"),
        all_instances_down=_approves(kept, "allInstancesDown"),
    )


def _approves(policy: Object, name: str) -> bool:
    return bool(policy.get(name, {}).get(_APPROVE, _DEFAULTS[name]))


def says_nothing(policy: Object) -> bool:
    """Whether a settled policy turns nothing on: a scale set does not keep such a one, a VM does."""
    targets = policy.get("scheduledEventsAdditionalPublishingTargets", {})
    published = targets.get("eventGridAndResourceGraph", {}).get("enable", False)
    wanted = published or _approves(policy, "userInitiatedRedeploy") or _approves(policy, "userInitiatedReboot")
    return not wanted and "allInstancesDown" not in policy


def shown_policy(kept: Object | None, policy: Policy) -> Object | None:
    """The policy of something that has this one: as it was written, if that still says so."""
    if settle_policy(kept or {})[1] == policy:
        return kept
    return {
        **(kept or {}),
        "userInitiatedRedeploy": {_APPROVE: policy.auto_approve_redeploy},
        "userInitiatedReboot": {_APPROVE: policy.auto_approve_reboot},
        "allInstancesDown": {_APPROVE: policy.all_instances_down},
    }
