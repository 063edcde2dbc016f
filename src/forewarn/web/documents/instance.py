"""What a VM is told about itself at ``/metadata/instance``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forewarn.core.region import Region, ScaleSet, Vm, fold
from forewarn.core.specs import DEFAULT_RESOURCE_GROUP, Orchestration, Particulars
from forewarn.web import arm_ids
from forewarn.web.documents.interfaces import interfaces_of
from forewarn.web.documents.whereabouts import (
    IMAGE_VERSION,
    SUBSCRIPTION,
    computer_name_of,
    location_of,
    placement_group_id,
)
from forewarn.wire.errors import ErrorReply
from forewarn.wire.instance import InstanceInfo, instance_tree
from forewarn.wire.tree import read_tree


def instance_answer(region: Region, vm: Vm, version: str, steps: Sequence[str], format_: str | None) -> ErrorReply:
    """The answer to a GET below ``/metadata/instance``, at path ``steps``; ``format_`` None is json."""
    return read_tree(instance_tree(instance_info(region, vm), version), steps, format_)


def instance_info(region: Region, vm: Vm) -> InstanceInfo:
    """The VM as the region knows it now: a redeployed VM finds itself on another host."""
    scale_set = region.scale_sets.get(fold(vm.scale_set))
    group, about = vm.spec.resource_group, vm.spec.about
    location, zone = location_of(vm.spec), about.zone(vm.number)
    info = InstanceInfo(
        name=vm.resource_name,
        vm_id=vm.vm_id,
        location=location,
        os_type=vm.spec.os_type,
        size=vm.spec.size,
        update_domain=str(vm.update_domain),
        fault_domain=str(vm.fault_domain),
        resource_group=group,
        subscription_id=SUBSCRIPTION,
        resource_id=arm_ids.vm_id(SUBSCRIPTION, vm),
        zone=zone,
        physical_zone=f"{location}-az{zone}" if zone else "",
        computer_name=computer_name_of(region, vm),
        admin_username=about.admin_username,
        no_passwords="" if about.no_passwords is None else str(about.no_passwords).lower(),
        public_keys=about.public_keys,
        priority="Spot" if vm.spec.spot else "",
        eviction_policy=str(vm.spec.eviction_policy) if vm.spec.spot else "",
        host_id=_host_id(vm),
        publisher=about.publisher,
        offer=about.offer,
        sku=about.sku,
        image_version=about.version,
        exact_version=_exact_version(about),
        image_id=about.image_id,
        user_data=about.user_data,
        tags=vm.spec.tags,
        interfaces=interfaces_of(region, vm),
    )
    return info if scale_set is None else _of_scale_set(info, scale_set, vm)


def _of_scale_set(info: InstanceInfo, scale_set: ScaleSet, vm: Vm) -> InstanceInfo:
    """An instance of a uniform set has its id below the set."""
    uniform = scale_set.orchestration is Orchestration.UNIFORM
    return replace(
        info,
        scale_set_name=scale_set.name,
        scale_set_id="" if uniform else arm_ids.scale_set_id(SUBSCRIPTION, scale_set),
        placement_group_id=placement_group_id(scale_set, vm),
        resource_id=arm_ids.instance_id(SUBSCRIPTION, scale_set, vm) if uniform else info.resource_id,
    )


def _exact_version(about: Particulars) -> str:
    """An image of a publisher has a version, said or not."""
    if not about.publisher:
        return about.version
    return IMAGE_VERSION if fold(about.version) in ("", "latest") else about.version


def _host_id(vm: Vm) -> str:
    if vm.host is None:
        return ""
    group = arm_ids.group_id(SUBSCRIPTION, DEFAULT_RESOURCE_GROUP)
    return arm_ids.resource_id(group, arm_ids.HOSTS, DEFAULT_RESOURCE_GROUP, f"host-{vm.host}")
