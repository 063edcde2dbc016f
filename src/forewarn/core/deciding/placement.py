"""Where VMs live. All VMs of a host share a fault domain and an update domain, so that the maintenance of one host
never touches two update domains of a scope."""

from __future__ import annotations

from forewarn.core import facts as f
from forewarn.core.draft import Draft


def find_host(draft: Draft, fault_domain: int, update_domain: int, *, other_than: int | None = None) -> int:
    """A healthy host with room in the given domains; a new one where there is none."""
    for number in draft.region.vacancies.get((fault_domain, update_domain), ()):
        if number != other_than:
            return int(number)
    number = len(draft.region.hosts)
    draft.record(f.HostAdded(draft.now, number, fault_domain, update_domain, draft.rules.vms_per_host))
    return number
