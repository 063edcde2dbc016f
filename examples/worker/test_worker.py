"""A quarter of an hour of maintenance in some milliseconds: the worker beside a region whose clock the test turns."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from worker import Worker

from forewarn.guest import Client
from forewarn.testing import Region


class Bench:
    """Where jobs are done: each takes until the test lets it go."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.begun: list[str] = []
        self.done: list[str] = []
        self.let_go = threading.Semaphore(0)

    def work(self, job: str) -> None:
        self.begun.append(job)
        self.let_go.acquire()
        self.done.append(job)
        self.region.note(f"{job} is done", by="worker")

    def finish(self, jobs: int = 1) -> None:
        self.let_go.release(jobs)


@pytest.fixture
def bench(region: Region) -> Bench:
    return Bench(region)


@pytest.fixture
def worker(region: Region, bench: Bench) -> Iterator[Worker]:
    vm = region.vm("web-0", availability_set="front")
    region.vm("web-1", availability_set="front")
    started = Worker(Client(vm.url), "web-0", bench.work)
    yield started
    bench.finish(100)
    started.close()


def test_the_worker_finishes_its_job_before_it_approves(region: Region, worker: Worker, bench: Bench) -> None:
    worker.submit("a")
    worker.submit("b")
    region.wait_until(lambda: bench.begun == ["a"])

    event = region.restart("web-0")
    region.wait_until(lambda: not worker.taking)
    assert event.phase == "scheduled", "it must not approve with a job in hand"
    bench.finish()
    region.wait_until(lambda: event.phase == "started")

    region.assert_approved_before_deadline(event)
    (prepared,) = [moment for moment in region.timeline() if moment.text == "a is done"]
    region.assert_prepared_before_impact(event, prepared)
    assert bench.begun == ["a"]


def test_the_worker_comes_back_when_the_event_is_over(region: Region, worker: Worker, bench: Bench) -> None:
    event = region.restart("web-0")
    region.wait_until(lambda: event.phase == "started")
    worker.submit("late")
    region.run_until(lambda: event.ended)

    region.wait_until(lambda: bench.begun == ["late"])


def test_the_worker_goes_on_when_another_vm_is_restarted(region: Region, worker: Worker, bench: Bench) -> None:
    event = region.restart("web-1")
    worker.submit("a")
    bench.finish()
    region.wait_until(lambda: bench.done == ["a"])
    region.advance(minutes=20)

    assert event.approved_by == ""
    region.assert_no_impact("web-0")


def test_a_service_that_stumbles_does_not_keep_the_worker_from_approving(region: Region, worker: Worker) -> None:
    region.fault("web-0", "error", times=2)
    event = region.restart("web-0")

    region.wait_until(lambda: event.phase == "started")
    region.assert_approved_before_deadline(event)


def test_a_job_that_takes_too_long_is_hit(region: Region, worker: Worker, bench: Bench) -> None:
    """What the assertion of the first test is worth: here it fails."""
    worker.submit("too long")
    region.wait_until(lambda: bench.begun == ["too long"])
    event = region.restart("web-0")
    region.advance(minutes=15)

    with pytest.raises(AssertionError, match="Nobody has approved"):
        region.assert_approved_before_deadline(event)
