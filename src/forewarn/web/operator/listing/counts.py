"""The census as an answer: how many there are of what."""

from __future__ import annotations

from collections import Counter

from forewarn.core.region import HostHealth, Power, Region
from forewarn.plane.read_models.census import Census
from forewarn.web.operator.desk import Listed
from forewarn.web.operator.schema.counts import DomainCount, EventCount, FleetAnswer


def fleet_fields(listed: Listed) -> FleetAnswer:
    census = listed.census
    power: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for traits, number in census.vms.items():
        power[traits.power.value] += number
        kinds[traits.kind.value] += number
    return _sizes(listed.look.region, listed.look.seq).model_copy(
        update={
            "ready": True,
            "share": 1.0,
            "power": dict(sorted(power.items())),
            "kinds": dict(sorted(kinds.items())),
            "spot": sum(number for traits, number in census.vms.items() if traits.spot),
            "pending": sum(number for traits, number in census.vms.items() if traits.pending),
            "domains": _domains(census),
            "health": _healths(census),
            "hosts_with_work": len(census.work),
            "hosts_with_vms_down": len(census.down),
            "events_total": sum(census.events.values()),
            "events": [
                EventCount(type=kind.value, phase=phase.value, events=number)
                for (kind, phase), number in sorted(census.events.items())
            ],
        }
    )


def _healths(census: Census) -> dict[str, int]:
    """Hosts by health. A health that only real hosts have is left out where there is none."""
    counts = {health: census.health.get(health, 0) for health in HostHealth}
    return {health.value: number for health, number in counts.items() if number or health in _ALWAYS}


_ALWAYS = (HostHealth.HEALTHY, HostHealth.FAILING, HostHealth.FAILED)


def fleet_not_ready(region: Region, seq: int, share: float) -> FleetAnswer:
    """The answer while the counts are yet to be made: what is known without them."""
    return _sizes(region, seq).model_copy(update={"share": round(share, 2)})


def _sizes(region: Region, seq: int) -> FleetAnswer:
    return FleetAnswer(
        ready=False,
        share=0.0,
        seq=seq,
        vms_total=len(region.vms),
        hosts_total=len(region.hosts),
        scale_sets_total=len(region.scale_sets),
        scopes_total=len(region.scopes),
        campaigns_total=len(region.campaigns),
        power={},
        kinds={},
        spot=0,
        pending=0,
        domains=[],
        health={},
        hosts_with_work=0,
        hosts_with_vms_down=0,
        events_total=0,
        events=[],
    )


def _domains(census: Census) -> list[DomainCount]:
    """How many VMs by update domain, then by fault domain."""
    vms: Counter[tuple[int, int]] = Counter()
    not_running: Counter[tuple[int, int]] = Counter()
    pending: Counter[tuple[int, int]] = Counter()
    for traits, number in census.vms.items():
        domain = traits.update_domain, traits.fault_domain
        vms[domain] += number
        not_running[domain] += number * (traits.power is not Power.RUNNING)
        pending[domain] += number * traits.pending
    return [
        DomainCount(
            update_domain=domain[0],
            fault_domain=domain[1],
            vms=number,
            not_running=not_running[domain],
            pending=pending[domain],
        )
        for domain, number in sorted(vms.items())
    ]
