"""Whatever happens to a region, and whenever somebody asks: register and census say what a count over it says."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from tests.model.machine import RegionMachine
from tests.model.read_model_watch import Reader
from tests.model.test_scale_set_machine import ScaleSetMachine

_SETTINGS = settings(
    max_examples=40,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class _Asking:
    """What somebody who reads does between all that happens."""

    reader: Reader

    @rule()
    def somebody_asks(self) -> None:
        self.reader.ask()

    @rule(times=st.integers(1, 12))
    def let_the_work_go_on(self, times: int) -> None:
        self.reader.turn(times)

    @rule()
    def somebody_looks(self) -> None:
        self.reader.look()


class WatchedRegionMachine(_Asking, RegionMachine):
    """Hosts, sets, services, campaigns, Spot VMs, faults of the journal and restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = Reader()

    @invariant()
    def publish(self) -> None:
        seq = self.reader.publishing.seq
        facts = [record.fact for record in self.system.shelf.journal.read(seq, 1_000_000)]
        self.reader.publishing.publish(self.system.region, facts)

    def teardown(self) -> None:
        self.publish()
        self.reader.close()
        super().teardown()


class WatchedScaleSetMachine(_Asking, ScaleSetMachine):
    """Scale sets that come, change and go with their placement groups."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = Reader()

    @invariant()
    def publish(self) -> None:
        self.reader.publishing.publish(self.world.region, self.world.facts[self.reader.publishing.seq :])

    def teardown(self) -> None:
        super().teardown()
        self.publish()
        self.reader.close()


def test_register_and_census_equal_a_count_over_the_region() -> None:
    run_state_machine_as_test(WatchedRegionMachine, settings=_SETTINGS)


def test_register_and_census_of_scale_sets_equal_a_count_over_the_region() -> None:
    run_state_machine_as_test(WatchedScaleSetMachine, settings=_SETTINGS)
