"""A QEMU that hangs: asked to go off it never answers, and is cut off when its grace is over all the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.libvirt.hosts import Hosts
from forewarn.engines.libvirt.powering import Powering
from tests.contract.engines.bench import Permit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class HungDomain:
    """As libvirt's own under SIGSTOP: ``shutdown`` waits for its monitor until the hand gives the call up."""

    def __init__(self) -> None:
        self.active, self.asked = True, 0

    def isActive(self) -> bool:  # noqa: N802 - libvirt's name
        return self.active

    def shutdown(self) -> None:
        self.asked += 1
        raise TimeoutError

    def destroy(self) -> None:
        self.active = False


def test_a_machine_that_does_not_answer_its_power_button_is_cut_off_when_its_grace_is_over() -> None:
    seconds = 0.0
    powering = Powering(Hosts({}), lambda: seconds)
    errand = Errand("id", ErrandKind.RESTART, "metal", "alpha", NOON, grace=timedelta(seconds=10))
    domain = HungDomain()
    with pytest.raises(TimeoutError):
        powering.is_off(domain, errand, Permit())
    seconds = 9.0
    assert not powering.is_off(domain, errand, Permit())
    seconds = 10.0
    assert powering.is_off(domain, errand, Permit())
    assert (domain.asked, domain.active) == (1, False)
