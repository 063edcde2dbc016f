"""What the step ``kubernetes-node`` does at an API server: these hold for the double and for a real one."""

from __future__ import annotations

import threading

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps.kubernetes_node import ApiPace
from tests.contract.kubernetes.bench import MERGE, OTHER, ClusterBench
from tests.waiting import until

DONE = StepEnd(StepOutcome.DONE)
FOREIGN = {"key": "example.org/theirs", "value": "x", "effect": "NoExecute"}


def taints(bench: ClusterBench) -> list[tuple[str, str]]:
    """Without those that a cluster puts there by itself."""
    found = bench.node()["spec"].get("taints") or []
    return sorted((each["key"], each.get("value", "")) for each in found if "kubernetes.io" not in each["key"])


def test_the_node_says_why_and_takes_no_more_pods(bench: ClusterBench) -> None:
    bench.add_node(taints=[FOREIGN])
    assert bench.do(drain=False) == DONE
    node = bench.node()
    assert node["metadata"]["labels"]["forewarn/scheduled-event"] == "Reboot"
    assert node["metadata"]["annotations"]["forewarn/events"] == "A-1"
    assert node["spec"]["unschedulable"] is True
    assert taints(bench) == [("example.org/theirs", "x"), ("forewarn/scheduled-event", "Reboot")]
    assert bench.condition() == ("True", "Reboot")
    assert bench.said() == [("Warning", "ScheduledEventBegun")]


def test_what_was_said_is_taken_back_and_the_rest_stays(bench: ClusterBench) -> None:
    bench.add_node(taints=[FOREIGN])
    assert bench.do(drain=False) == bench.do(drain=False) == DONE  # twice is like once
    assert bench.undo() == DONE
    node = bench.node()
    assert "forewarn/scheduled-event" not in node["metadata"].get("labels", {})
    assert not [key for key in node["metadata"].get("annotations", {}) if key.startswith("forewarn/")]
    assert not node["spec"].get("unschedulable")
    assert taints(bench) == [("example.org/theirs", "x")]
    assert bench.condition() == ("False", "NoScheduledEvent")
    assert ("Normal", "ScheduledEventOver") in bench.said()


def test_a_node_that_somebody_else_cordoned_stays_so(bench: ClusterBench) -> None:
    bench.add_node(unschedulable=True)
    assert bench.do(drain=False) == bench.do(drain=False) == DONE
    assert bench.undo() == DONE
    assert bench.node()["spec"]["unschedulable"] is True
    assert taints(bench) == []


def test_undoing_what_was_not_done_changes_nothing(bench: ClusterBench) -> None:
    bench.add_node(unschedulable=True)
    before = bench.node()["spec"]
    assert bench.undo().good
    assert bench.node()["spec"] == before


def test_a_node_is_free_until_the_last_of_its_events_is_over(bench: ClusterBench) -> None:
    bench.add_node()
    assert bench.do(drain=False) == bench.do(OTHER, drain=False) == DONE
    assert bench.undo() == StepEnd(StepOutcome.DONE, "another event still keeps the node free")
    assert bench.node()["spec"]["unschedulable"] is True
    assert bench.undo(OTHER) == DONE
    assert not bench.node()["spec"].get("unschedulable")


def test_pods_are_evicted_and_those_that_belong_to_the_node_stay(bench: ClusterBench) -> None:
    bench.add_node()
    bench.add_pod("web")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "logs", "uid": "1", "controller": True}
    bench.add_pod("logs", ownerReferences=[owner])
    bench.add_pod("mirror", annotations={"kubernetes.io/config.mirror": "x"})
    bench.add_pod("finished", phase="Succeeded")
    with bench.kubelet():
        assert bench.do() == DONE
    assert bench.pod_names == ["finished", "logs", "mirror"]


def test_the_step_waits_until_the_pods_are_gone(bench: ClusterBench) -> None:
    """Nobody ends them: the node has no kubelet."""
    bench.add_node()
    bench.add_pod("web")
    ended = bench.do(seconds=2.5, grace="7s")
    assert ended.outcome is StepOutcome.TIMED_OUT
    assert "still there: default/web" in ended.detail
    (pod,) = bench.pods()
    assert pod["metadata"]["deletionTimestamp"]
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 7


def test_a_disruption_budget_is_waited_for(bench: ClusterBench) -> None:
    bench.pace = ApiPace(again_seconds=0.2)
    bench.add_node()
    bench.add_pod("db", labels={"app": "db"})
    bench.budget("db", {"app": "db"})
    with bench.kubelet():
        ended = bench.do(seconds=3)
        assert ended.outcome is StepOutcome.TIMED_OUT
        assert "default/db (429 Cannot evict pod" in ended.detail
        assert not bench.pods()[0]["metadata"].get("deletionTimestamp")
        allowing = threading.Timer(1, bench.allow, ("db", 1))
        allowing.start()
        try:
            assert bench.do() == DONE
        finally:
            allowing.join()
    assert bench.pod_names == []


def test_what_others_change_meanwhile_is_kept(bench: ClusterBench) -> None:
    bench.add_node()
    ending, numbers = threading.Event(), list[int]()

    def change() -> None:
        while not ending.wait(0.1):
            numbers.append(len(numbers))
            patch = {"metadata": {"labels": {"example.org/number": str(numbers[-1])}}}
            bench.ask("PATCH", "/api/v1/nodes/web-0", patch, MERGE)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3):
            assert bench.do(drain=False) == DONE
            assert bench.undo() == DONE
        until(lambda: numbers, "a change of theirs")
    finally:
        ending.set()
        thread.join()
    node = bench.node()
    assert node["metadata"]["labels"]["example.org/number"] == str(numbers[-1])
    assert not node["spec"].get("unschedulable")


def test_a_token_that_is_not_known_and_a_node_that_is_not_there_are_refused_in_a_sentence(bench: ClusterBench) -> None:
    bench.add_node()
    assert "404" in bench.do(node="nobody").detail
    (bench.directory / "wrong").write_text("nonsense")
    ended = bench.do(token_file=str(bench.directory / "wrong"))
    assert (ended.outcome, "GET /api/v1/nodes/web-0: 401 Unauthorized" in ended.detail) == (StepOutcome.FAILED, True)
    assert not bench.node()["spec"].get("unschedulable")
