"""Which VMs, scopes and hosts a page shows. Where a filter names few, only those are looked at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import takewhile

from forewarn.core.looking.lookup import host_named, scope_named
from forewarn.core.region import Host, Power, Region, Scope, Vm, fold
from forewarn.plane.read_models.census import WORK, down_at
from forewarn.plane.read_models.order import Order
from forewarn.plane.read_models.register import is_pending
from forewarn.web.operator.desk import Listed
from forewarn.web.operator.listing.paging import Chosen, choose
from forewarn.web.operator.schema.listing import HostPage, ScopePage, VmPage

# VMs


def vms_of(listed: Listed, page: VmPage) -> Chosen[Vm]:
    """A page of VMs, by name."""
    region = listed.look.region
    ordered = (region.vms[key] for key in _vm_keys(listed, page))
    return choose(ordered, _vm_filter(region, page), lambda vm: vm.key, page.limit)


def _vm_keys(listed: Listed, page: VmPage) -> Iterator[str]:
    """Candidates after the last page, from the shortest index that contains everything the filters can choose."""
    region, after = listed.look.region, fold(page.after)
    if page.scope:
        scope = scope_named(region, page.scope)
        return _sorted([vm.key for vm in region.members_of(scope)], after, page.reverse)
    if page.host:
        return _sorted(host_named(region, page.host).vms, after, page.reverse)
    return _from(_shortest(listed, page), fold(page.name), after, page.reverse)


def _from(order: Order[str], part: str, after: str, reverse: bool) -> Iterator[str]:
    """Keys of an order beyond the last page, those with this part in them."""
    if reverse:
        return order.having_before(part, after) if part else order.before(after or None)
    return order.having(part, after) if part else order.after(after)


def _shortest(listed: Listed, page: VmPage) -> Order[str]:
    register = listed.register
    orders = [register.vms]
    if page.power not in (None, Power.RUNNING.value):
        orders.append(register.not_running)
    if page.spot:
        orders.append(register.spot)
    if page.pending:
        orders.append(register.pending)
    return min(orders, key=len)


def _sorted(keys: Collection[str], after: str, reverse: bool) -> Iterator[str]:
    rest = keys if not after else [key for key in keys if (key < after if reverse else key > after)]
    return iter(sorted(rest, reverse=reverse))


def _vm_filter(region: Region, page: VmPage) -> Callable[[Vm], bool]:
    name, host = fold(page.name), host_named(region, page.host).number if page.host else None
    scope = fold(page.scope)

    def wanted(vm: Vm) -> bool:
        return (
            (page.power is None or vm.power == page.power)
            and (page.ud is None or vm.update_domain == page.ud)
            and (page.fd is None or vm.fault_domain == page.fd)
            and (page.spot is None or vm.spec.spot is page.spot)
            and (page.pending is None or is_pending(region, vm) is page.pending)
            and (host is None or vm.host == host)
            and (not scope or vm.scope == scope)
            and name in vm.key
        )

    return wanted


# Scopes


def scopes_of(listed: Listed, page: ScopePage) -> Chosen[Scope]:
    """A page of scopes, by key."""
    region = listed.look.region
    ordered = (region.scopes[key] for key in _scope_keys(listed.register.scopes, page))
    return choose(ordered, _scope_filter(page), lambda scope: scope.key, page.limit)


def _scope_keys(order: Order[str], page: ScopePage) -> Iterator[str]:
    """The keys of scopes that may fit, in order. Those of one kind stand together, because a key begins with it."""
    after, name = fold(page.after), fold(page.name)
    if page.kind is None:
        return _from(order, name, after, page.reverse)
    kind, beyond = f"{page.kind}/", f"{page.kind}0"  # 0 is the sign after the slash
    keys = order.before(after or beyond) if page.reverse else order.after(max(after, kind))
    return takewhile(lambda key: key.startswith(kind), keys)


def _scope_filter(page: ScopePage) -> Callable[[Scope], bool]:
    name = fold(page.name)

    def wanted(scope: Scope) -> bool:
        return name in fold(scope.name) and (page.enabled is None or (scope.enabled_at is not None) is page.enabled)

    return wanted


# Hosts


def hosts_of(listed: Listed, page: HostPage) -> Chosen[Host]:
    """A page of hosts, by number. Their state is read off the census, a byte each."""
    region, told = listed.look.region, listed.census.hosts
    last = _number_of(page.after)
    numbers = range(len(told) if last < 0 else last)[::-1] if page.reverse else range(last + 1, len(told))
    ordered = (region.hosts[number] for number in numbers)
    return choose(ordered, _host_filter(told, page), host_cursor, page.limit)


def host_cursor(host: Host) -> str:
    return f"host-{host.number:09}"


def _number_of(cursor: str) -> int:
    """The number of the last host on the page before, given as a number or as the host's name; -1 for none."""
    _, _, digits = cursor.rpartition("-")
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def _host_filter(told: bytes, page: HostPage) -> Callable[[Host], bool]:
    def wanted(host: Host) -> bool:
        told_of = told[host.number]
        return (
            (page.health is None or host.health == page.health)
            and (page.work is None or bool(told_of & WORK) is page.work)
            and (page.down is None or bool(down_at(told_of)) is page.down)
            and (page.ud is None or host.update_domain == page.ud)
            and (page.fd is None or host.fault_domain == page.fd)
        )

    return wanted
