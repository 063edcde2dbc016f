"""A relay on real sockets, beside an upstream whose clock goes on while the relay's stands still, or the other way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from forewarn.plane.system import SYSTEM, ServerSystem
from tests.contract.metadata.bench import RelayBench
from tests.e2e.metadata_region import Guest, get, region_of

STALENESS = timedelta(seconds=2)


class Ahead:
    """A clock that can be moved ahead, as if all the others had stood still."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.system = ServerSystem(elapsed=lambda: SYSTEM.elapsed() + self.seconds)


@contextmanager
def relay_beside(node: Ahead, relay: Ahead) -> Iterator[RelayBench]:
    class Bench(RelayBench):
        system = node.system
        relays_system = relay.system

    with region_of(Bench, staleness=STALENESS) as bench:
        bench.create("web")
        yield bench


def good_for(bench: RelayBench) -> float:
    """Seconds for which the relay would go on, if its upstream died now."""
    ground = bench.relay.ground
    return bench.do(lambda: ground.standing.current_until - ground.system.elapsed())


def is_well(bench: RelayBench, guest: Guest) -> bool:
    return guest.ask(get("web")).status == 200 and good_for(bench) > STALENESS.total_seconds() * 0.7


def test_a_relay_whose_machine_was_paused_is_never_sure_for_longer_than_staleness() -> None:
    node = Ahead()
    with relay_beside(node, Ahead()) as bench:
        guest = bench.guest()
        bench.until(lambda: is_well(bench, guest), "a relay that follows")
        seq = bench.do(lambda: bench.relay.ground.known_seq)
        node.seconds += 300
        seen = [good_for(bench)]

        def is_well_again() -> bool:
            seen.append(good_for(bench))
            return is_well(bench, guest)

        bench.restart("web")
        bench.until(is_well_again, "a relay that is well again")
        assert max(*seen, good_for(bench)) <= STALENESS.total_seconds()
        assert bench.do(lambda: bench.relay.ground.known_seq) > seq
        assert guest.ask(get("web")).incarnation() == 2


def test_a_relay_whose_upstream_was_paused_answers_again_within_its_stream() -> None:
    relay = Ahead()
    with relay_beside(Ahead(), relay) as bench:
        guest = bench.guest()
        # Each shorter than the silence for which it would leave
        for pause, news in ((1.3, "web-0"), (1.8, "web-1"), (1.3, "fe-0")):
            bench.until(lambda: is_well(bench, guest), "a relay that follows")
            relay.seconds += pause
            bench.create(news)
        bench.until(lambda: is_well(bench, guest), "a relay that is well again")
        assert guest.ask(get("fe-0")).status == 200
