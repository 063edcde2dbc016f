"""The cases on the double; and what only it can be made to do: to be away, busy, slow, somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps.kubernetes_node import ApiPace, KubernetesNode
from forewarn.plane.clock import wall_time
from forewarn.web.resource_manager.login.tls import prepare
from tests.contract.kubernetes.bench import ClusterBench
from tests.contract.kubernetes.cases import *  # noqa: F403 - the cases
from tests.contract.kubernetes.cases import DONE
from tests.contract.kubernetes.double import Cluster, Failure, served


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Cluster, ClusterBench]]:
    with served(tmp_path) as found:
        yield found


@pytest.fixture
def cluster(both: tuple[Cluster, ClusterBench]) -> Cluster:
    return both[0]


@pytest.fixture
def bench(both: tuple[Cluster, ClusterBench]) -> ClusterBench:
    return both[1]


def test_one_who_was_faster_is_not_overwritten(cluster: Cluster, bench: ClusterBench) -> None:
    bench.add_node()
    patches = list[str]()

    def first_patch_comes_late(verb: str, path: str) -> None:
        if verb == "PATCH" and path.endswith("/web-0"):
            patches.append(path)
            if len(patches) == 1:
                bench.ask("PATCH", path, {"spec": {"unschedulable": True}}, "application/merge-patch+json")

    cluster.before = first_patch_comes_late
    assert bench.do(drain=False) == DONE
    assert len(patches) == 2
    assert bench.undo() == DONE
    assert bench.node()["spec"]["unschedulable"] is True  # by the one who was faster


def test_one_who_is_always_faster_is_given_up_when_the_time_is_over(cluster: Cluster, bench: ClusterBench) -> None:
    bench.add_node()

    def always_first(verb: str, path: str) -> None:
        if verb == "PATCH" and path.endswith("/web-0"):
            bench.ask("PATCH", path, {"metadata": {"labels": {"theirs": "x"}}}, "application/merge-patch+json")

    cluster.before = always_first
    ended = bench.do(seconds=1)
    assert ended.outcome is StepOutcome.TIMED_OUT
    assert "others change the node all the time" in ended.detail
    assert not bench.node()["spec"].get("unschedulable")


def test_a_server_that_is_busy_or_broken_is_asked_again(cluster: Cluster, bench: ClusterBench) -> None:
    bench.pace = ApiPace(look_seconds=0.01, again_seconds=0.01)
    bench.add_node()
    bench.add_pod("web")
    seen: dict[str, int] = {}

    def every_first_fails(verb: str, path: str) -> None:
        key = f"{verb} {path}"
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 1:
            raise Failure(503, "the server is currently unable to handle the request")
        if seen[key] == 2:
            raise Failure(429, "too many requests, please try again later")

    cluster.before = every_first_fails
    with bench.kubelet():
        assert bench.do() == DONE
    assert bench.pod_names == []


def test_what_people_cannot_be_told_does_not_stop_the_draining(cluster: Cluster, bench: ClusterBench) -> None:
    bench.add_node()
    bench.add_pod("web")

    def no_events(verb: str, path: str) -> None:
        if path.endswith("/events"):
            raise Failure(403, "events is forbidden")

    cluster.before = no_events
    with bench.kubelet():
        ended = bench.do()
    assert ended.good
    assert "the event could not be told" in ended.detail
    assert "403 events is forbidden" in ended.detail
    assert bench.pod_names == []


def test_who_may_not_evict_says_so_at_once(cluster: Cluster, bench: ClusterBench) -> None:
    bench.add_node()
    bench.add_pod("web")

    def no_evictions(verb: str, path: str) -> None:
        if path.endswith("/eviction"):
            raise Failure(403, "pods/eviction is forbidden")

    cluster.before = no_evictions
    ended = bench.do()
    assert ended == StepEnd(StepOutcome.FAILED, "default/web was not evicted: 403 pods/eviction is forbidden")


def test_many_pods_are_read_in_portions(bench: ClusterBench) -> None:
    bench.pace = ApiPace(page=3)
    bench.add_node()
    for number in range(8):
        bench.add_pod(f"web-{number}")
    with bench.kubelet():
        assert bench.do() == DONE
    assert bench.pod_names == []


def test_a_pod_that_took_the_name_of_another_is_not_evicted_in_its_place(cluster: Cluster, bench: ClusterBench) -> None:
    bench.add_node()
    bench.add_pod("web")
    swapped = list[str]()

    def swap(verb: str, path: str) -> None:
        if path.endswith("/eviction") and not swapped:
            swapped.append(path)
            bench.ask("DELETE", "/api/v1/namespaces/default/pods/web", {"gracePeriodSeconds": 0})
            bench.add_pod("web", ownerReferences=[{"kind": "DaemonSet", "controller": True}])

    cluster.before = swap
    assert bench.do() == DONE
    (left,) = bench.pods()
    assert not left["metadata"].get("deletionTimestamp")


def test_one_with_another_certificate_is_not_believed(bench: ClusterBench, tmp_path: Path) -> None:
    other = prepare(tmp_path / "other", (), wall_time())
    bench.add_node()
    ended = bench.do(ca_file=str(other.authority))
    assert ended.outcome is StepOutcome.FAILED
    assert "the API server is not who" in ended.detail
    assert not bench.node()["spec"].get("unschedulable")


def test_what_pods_are_told_is_where_it_looks(bench: ClusterBench, monkeypatch: pytest.MonkeyPatch) -> None:
    task = bench.task(settings={"drain": False})
    settings = dict(task.step.settings)
    host, _, port = str(settings.pop("server")).removeprefix("https://").partition(":")
    bench.add_node("node-of-the-cluster")
    told = replace(task, step=replace(task.step, settings=settings))
    kind = KubernetesNode()
    assert "KUBERNETES_SERVICE_HOST" in kind.do(told).detail
    for name, value in (("SERVICE_HOST", host), ("SERVICE_PORT", port)):
        monkeypatch.setenv(f"KUBERNETES_{name}", value)
    monkeypatch.setenv("NODE_NAME", "node-of-the-cluster")
    assert kind.do(told) == DONE
    assert bench.node("node-of-the-cluster")["spec"]["unschedulable"] is True


@pytest.mark.parametrize("server", ["http://10.0.0.1", "10.0.0.1:6443"])
def test_a_server_that_is_not_asked_by_https_is_refused(server: str) -> None:
    (wrong,) = KubernetesNode().keys.check({"server": server})
    assert "https://" in wrong.message
