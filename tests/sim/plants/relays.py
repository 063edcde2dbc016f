"""Relays: who is told of what, until when it is believed, and which answer a VM gets when nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core.region import Region
from forewarn.plane.ports import Uncertain
from forewarn.server.relaying.ground import RelayGround, RelayStanding
from forewarn.sim.plan import Misfortune
from forewarn.web.operator.live.relays import Newsroom, RelayStream
from forewarn.web.slices.cutting import Difference
from forewarn.web.slices.holding import HeldChange, Holding
from tests.sim.plants.plant import Plant


def nobody_listens_for_who_came_later(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Newsroom, "_listen", lambda self, stream: None)


def an_unknown_outcome_is_a_yes(patch: pytest.MonkeyPatch) -> None:
    honest = RelayGround.submit

    async def submit(self: RelayGround, command: Any, origin: Any) -> None:
        try:
            await honest(self, command, origin)
        except Uncertain:
            return

    patch.setattr(RelayGround, "submit", submit)


def the_silence_of_the_nodes_store_does_not_count(patch: pytest.MonkeyPatch) -> None:
    honest = RelayGround.take

    def take(self: RelayGround, bulletin: Any) -> None:
        honest(self, bulletin)
        self.standing.heard(bulletin.elapsed)

    patch.setattr(RelayGround, "take", take)


def a_relay_believes_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RelayStanding, "stale", "")


def what_has_gone_is_not_told(patch: pytest.MonkeyPatch) -> None:
    honest = RelayStream.look

    def look(self: RelayStream, region: Region) -> Difference:
        return honest(self, region)._replace(gone=())

    patch.setattr(RelayStream, "look", look)


def a_lag_hides_what_a_relay_was_told_of_an_enabling(patch: pytest.MonkeyPatch) -> None:
    honest = Holding.apply

    def apply(self: Holding, bulletin: Any) -> HeldChange | None:
        held = honest(self, bulletin)
        return None if held is None else held._replace(enabled=())

    patch.setattr(Holding, "apply", apply)


RELAYS = (
    Plant(
        "a relay is not told of what happens to VMs that came to its host later",
        "web.operator.live.relays.Newsroom._listen",
        nobody_listens_for_who_came_later,
        relays=3,
        seam=True,
    ),
    Plant(
        "a VM is told yes where its relay does not know what became of its approval",
        "server.relaying.ground.RelayGround.submit",
        an_unknown_outcome_is_a_yes,
        (Misfortune.CRASH, Misfortune.LOSS, Misfortune.STORE),
        relays=3,
        pace=30.0,
        seam=True,
    ),
    Plant(
        "a relay counts from when it has heard of its node, and not from when that was sure",
        "server.relaying.ground.RelayGround.take",
        the_silence_of_the_nodes_store_does_not_count,
        (Misfortune.STORE,),
        nodes=2,
        relays=3,
        pace=30.0,
        seam=True,
    ),
    Plant(
        "a relay that is cut off goes on answering",
        "server.relaying.ground.RelayStanding.stale",
        a_relay_believes_for_ever,
        (Misfortune.STORE,),
        relays=3,
        seam=True,
    ),
    Plant(
        "a relay is not told which VMs have left its host",
        "web.operator.live.relays.RelayStream.look",
        what_has_gone_is_not_told,
        relays=3,
        seam=True,
    ),
    Plant(
        "behind a relay and a lag, a scope that is enabled shows late",
        "web.slices.holding.Holding.apply",
        a_lag_hides_what_a_relay_was_told_of_an_enabling,
        relays=3,
        seam=True,
    ),
)
