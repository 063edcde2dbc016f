"""What libvirt says of a domain, as a sighting."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from forewarn.core.machines.values import MachinePower
from forewarn.engines.libvirt import looking
from forewarn.engines.libvirt.looking import sighting_of
from forewarn.engines.libvirt.stamps import Stamp, written

RUNNING, PAUSED, SHUTOFF = 1, 3, 5  # virDomainState
BY_A_PERSON, STARTING_UP = 1, 11  # virDomainPausedReason


class Domain:
    """With a stamp of an errand."""

    def __init__(self, state: int, reason: int) -> None:
        self._state = state, reason

    def state(self) -> tuple[int, int]:
        return self._state

    def name(self) -> str:
        return "web-0"

    def ID(self) -> int:  # noqa: N802 - libvirt's name
        return 7

    def metadata(self, *_: object) -> str:
        return written(Stamp(errand="errand-1"))


@pytest.mark.parametrize(
    ("state", "reason", "power"),
    [
        (RUNNING, 1, MachinePower.RUNNING),
        (PAUSED, BY_A_PERSON, MachinePower.PAUSED),
        (PAUSED, STARTING_UP, MachinePower.OFF),
        (SHUTOFF, 1, MachinePower.OFF),
    ],
)
def test_a_machine_that_is_being_started_is_not_called_paused(
    state: int, reason: int, power: MachinePower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing in the middle of a start took it for paused by nobody, and the start for done: once its daemon was
    killed there, the machine stayed off."""
    names = ("VIR_DOMAIN_METADATA_ELEMENT", "VIR_DOMAIN_AFFECT_LIVE", "VIR_DOMAIN_AFFECT_CONFIG")
    module = SimpleNamespace(**dict.fromkeys(names, 0), libvirtError=OSError)
    monkeypatch.setattr(looking, "libvirt", lambda: module)
    seen = sighting_of(Domain(state, reason), "alpha")
    assert seen is not None
    assert (seen.power, seen.errand) == (power, "errand-1")
