"""Campaigns over a set that reads, as several tests run them."""

from __future__ import annotations

from tests.unit.core.world import World, in_set


def reading_set(world: World, count: int = 3) -> None:
    world.reading(*(f"web-{number}" for number in range(count)), spec=in_set("front"))


def domains_open(world: World) -> set[int]:
    return {event.update_domain for event in world.region.events.values()}


def run_out(world: World) -> list[set[int]]:
    """Let the campaign come to its end; which domains were open, one after the other."""
    waves: list[set[int]] = []
    for _ in range(1000):
        if not waves or waves[-1] != domains_open(world):
            waves.append(domains_open(world))
        if world.campaign().ended_at is not None:
            return waves
        world.next()
    raise AssertionError("the campaign does not end")
