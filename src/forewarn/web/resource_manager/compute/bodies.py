"""From a tidy body to what the core understands, or to an error that names the member at fault."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.core.deciding import fleet
from forewarn.core.refusal import Refused
from forewarn.core.specs import EvictionPolicy, Particulars, VmSpec
from forewarn.web.documents.whereabouts import WINDOWS_NAME_MOST, WINDOWS_PREFIX_MOST
from forewarn.web.resource_manager.call import ArmDesk, Call
from forewarn.web.resource_manager.compute import particulars
from forewarn.web.resource_manager.compute.event_settings import TERMINATE, Notices, settle_profile
from forewarn.web.resource_manager.compute.merging import merge
from forewarn.web.resource_manager.compute.schema import Object, read
from forewarn.web.resource_manager.errors import ArmError, invalid
from forewarn.web.resource_manager.groups.subscriptions import place_name

_PRIORITIES = ("Regular", "Low", "Spot")
_NOT_IN_WINDOWS_NAMES = "`~!@#$%^&*()=+_[]{}\\|;:.'\",<>/?"  # in the order of Azure's sentence about them
_EVICTIONS = tuple(str(policy) for policy in EvictionPolicy)


def change_in(call: Call, kind: str, label: str) -> Object:
    """The body, tidy, and in it what only a resource has."""
    change = read(call.body, kind, call.api_version, label)
    if "location" in change:
        change["location"] = place_name(change["location"])
    return change


def check_name(what: str, name: str, target: str, longest: int = 80) -> None:
    if len(name) > longest:
        raise invalid(target, f"The name of a {what} has at most {longest} characters.")
    try:
        fleet.check_name(what, name)
    except Refused as refused:
        raise invalid(target, refused.message) from None


def laid_over(base: Object | None, change: Object, call: Call) -> Object:
    """The whole document after a change. The location of a resource cannot change, and a new one must name it."""
    if base is None:
        if not change.get("location"):
            raise ArmError(
                400, "LocationRequired", "The location property is required for this definition.", "location"
            )
        return merge({"properties": {}}, change)
    here, wanted = base["location"], change.get("location", base["location"])
    if here != wanted:
        name, group = call.names["name"], call.names["group"]
        raise ArmError(
            409,
            "InvalidResourceLocation",
            f"The resource '{name}' already exists in location '{here}' in resource group '{group}'. A resource with "
            f"the same name cannot be created in location '{wanted}'. Please select a new resource name.",
            "location",
        )
    return merge(base, change)


def one_of(holder: Object, name: str, allowed: tuple[str, ...], at: str) -> str | None:
    """A member that takes one of few values, in any case; it is kept in the service's spelling."""
    text = holder.get(name)
    if text is None:
        return None
    for value in allowed:
        if value.lower() == str(text).lower():
            holder[name] = value
            return value
    path = f"{at}.{name}" if at else name
    listed = ", ".join(f"'{value}'" for value in allowed)
    raise invalid(
        path, f"The value '{str(text)[:80]}' of parameter '{path}' is not allowed. Allowed values are {listed}."
    )


def required(name: str) -> ArmError:
    return invalid(name, f"Required parameter '{name}' is missing (null).")


def unchangeable(name: str) -> ArmError:
    return ArmError(409, "PropertyChangeNotAllowed", f"Changing property '{name}' is not allowed.", name)


@dataclass(frozen=True)
class Profile:
    """What the profile of a VM, or of a scale set's instances, means to the region."""

    spot: bool
    eviction_policy: EvictionPolicy
    notices: Notices
    os_type: str
    about: Particulars

    def spec(self, group: str, size: str, tags: Object) -> VmSpec:
        return VmSpec(
            resource_group=group,
            spot=self.spot,
            eviction_policy=self.eviction_policy,
            terminate_notice=self.notices.terminate,
            os_image_notice=self.notices.os_image,
            size=size,
            os_type=self.os_type,
            tags=tuple(sorted((name, str(value)) for name, value in tags.items())),
            about=self.about,
        )


def settle(desk: ArmDesk, document: Object, profile: Object, at: str, current: VmSpec | None) -> Profile:
    """Put the profile of a merged document into the form that is kept, and say what it means."""
    priority = one_of(profile, "priority", _PRIORITIES, at)
    spot = priority in ("Low", "Spot")
    if current is not None and current.spot != spot:
        raise unchangeable("priority")
    eviction = one_of(profile, "evictionPolicy", _EVICTIONS, at)
    if eviction and not spot:
        raise invalid(f"{at}.evictionPolicy", "Eviction policy can be set only on Azure Spot Virtual Machines.")
    notices = Notices()
    if "scheduledEventsProfile" in profile:
        here = f"{at}.scheduledEventsProfile"
        profile["scheduledEventsProfile"], notices = settle_profile(profile["scheduledEventsProfile"], here)
        if spot and notices.terminate is not None:
            target = f"{here}.{TERMINATE}.enable"
            raise invalid(target, "Terminate notifications cannot be enabled on Spot instances.")
    disk = profile.get("storageProfile", {}).get("osDisk", {})
    named = one_of(disk, "osType", ("Linux", "Windows"), f"{at}.storageProfile.osDisk")
    system = named or particulars.os_type(desk, profile, current)
    if system == "Windows" and current is None:
        _check_windows_name(profile, at)
    return Profile(
        spot,
        EvictionPolicy(eviction or EvictionPolicy.DEALLOCATE),
        notices,
        system,
        particulars.read(document, profile),
    )


def _check_windows_name(profile: Object, at: str) -> None:
    """In Azure's words. A prefix leaves six places for the number of the instance."""
    system = profile.get("osProfile", {})
    for key, words, most in (
        ("computerName", "name", WINDOWS_NAME_MOST),
        ("computerNamePrefix", "name prefix", WINDOWS_PREFIX_MOST),
    ):
        name = str(system.get(key, ""))
        if len(name) > most or name.isdecimal() or any(letter in _NOT_IN_WINDOWS_NAMES for letter in name):
            raise invalid(
                f"{at}.osProfile.{key}",
                f"Windows computer {words} cannot be more than {most} characters long, be entirely numeric, or contain "
                f"the following characters: {' '.join(_NOT_IN_WINDOWS_NAMES)}.",
            )


def check_preconditions(call: Call, current: Object | None) -> None:
    """If-Match and If-None-Match, which the newer clients can be told to send."""
    etag = None if current is None else str(current.get("etag", ""))
    wanted, unwanted = call.headers.get("if-match", ""), call.headers.get("if-none-match", "")
    if wanted and (etag is None or wanted not in ("*", etag)):
        raise _precondition_failed(f"its ETag is not {wanted[:80]}")
    if unwanted and etag is not None and unwanted in ("*", etag):
        raise _precondition_failed("it exists")


def _precondition_failed(why: str) -> ArmError:
    return ArmError(412, "PreconditionFailed", f"The resource was not changed because {why}.")
