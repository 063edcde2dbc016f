"""A cluster for tests: what a person with all rights does there, and the step of an agent with few."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from forewarn.guest.agent.deciding.state import StepEnd
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.steps import Task
from forewarn.guest.agent.steps.kubernetes_node import ApiPace, KubernetesNode
from forewarn.guest.agent.values import Step
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent

ADMIN, AGENT = "sesame", "agents-own"  # tokens
MACHINE = this_machine()
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A-1", "Scheduled", "Reboot", ("web-0",), NOON, "Host.", "Platform", 9)
OTHER = ScheduledEvent("B-2", "Scheduled", "Freeze", ("web-0",), NOON, "Host.", "Platform", 9)
MERGE = "application/merge-patch+json"


@dataclass
class ClusterBench:
    """One API server. Without a cluster around it: the bench is the kubelet and the disruption controller."""

    url: str
    authority: Path
    directory: Path
    policy: str  # the group and version of evictions and budgets
    pace: ApiPace = field(default_factory=ApiPace)  # of the step

    # As a person with all rights

    def ask(self, verb: str, path: str, body: object = None, form: str = "application/json") -> dict[str, Any]:
        parts = urlsplit(self.url)
        context = ssl.create_default_context(cafile=self.authority)
        connection = HTTPSConnection(parts.hostname or "", parts.port, timeout=60, context=context)
        try:
            fields = {"Authorization": f"Bearer {ADMIN}", "Content-Type": form}
            connection.request(verb, path, None if body is None else json.dumps(body), fields)
            answer = connection.getresponse()
            found: dict[str, Any] = json.loads(answer.read())
            assert answer.status < 300, f"{verb} {path}: {answer.status} {found}"
            return found
        finally:
            connection.close()

    def node(self, name: str = "web-0") -> dict[str, Any]:
        return self.ask("GET", f"/api/v1/nodes/{name}")

    def add_node(self, name: str = "web-0", **spec: object) -> None:
        self.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}, "spec": spec})

    def add_pod(
        self, name: str, *, phase: str = "Running", labels: dict[str, str] | None = None, **about: object
    ) -> None:
        """One that is bound to the node, and that its kubelet has started."""
        spec = {"nodeName": "web-0", "containers": [{"name": "it", "image": "it"}], "terminationGracePeriodSeconds": 5}
        metadata = {"name": name, "namespace": "default", "labels": labels or {}, **about}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        self.ask("POST", "/api/v1/namespaces/default/pods", pod)
        ready = {"type": "Ready", "status": "True"}
        status = {"status": {"phase": phase, "conditions": [ready]}}
        self.ask("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", status, MERGE)

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("GET", "/api/v1/namespaces/default/pods")["items"]
        return found

    @property
    def pod_names(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.pods())

    def budget(self, name: str, labels: dict[str, str]) -> None:
        body = {
            "apiVersion": self.policy,
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        }
        self.ask("POST", f"/apis/{self.policy}/namespaces/default/poddisruptionbudgets", body)
        self.allow(name, 0)

    def allow(self, name: str, disruptions: int) -> None:
        status = {
            "observedGeneration": 9,
            "disruptionsAllowed": disruptions,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        }
        path = f"/apis/{self.policy}/namespaces/default/poddisruptionbudgets/{name}/status"
        self.ask("PATCH", path, {"status": status}, MERGE)

    def said(self) -> list[tuple[str, str]]:
        """Events about the node: type and reason."""
        items = self.ask("GET", "/api/v1/namespaces/default/events")["items"]
        ours = [each for each in items if each["involvedObject"]["kind"] == "Node"]
        return sorted((each["type"], each["reason"]) for each in ours)

    def condition(self) -> tuple[str, str]:
        (found,) = (each for each in self.node()["status"]["conditions"] if each["type"] == "ScheduledEvent")
        return found["status"], found["reason"]

    @contextmanager
    def kubelet(self) -> Iterator[None]:
        """Ends pods that are to end."""
        ending = threading.Event()

        def work() -> None:
            while not ending.wait(0.05):
                for pod in self.pods():
                    if pod["metadata"].get("deletionTimestamp"):
                        path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
                        self.ask("DELETE", path, {"gracePeriodSeconds": 0})

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()

    # As the agent

    def task(
        self, event: ScheduledEvent = EVENT, settings: dict[str, object] | None = None, seconds: float = 60
    ) -> Task:
        token = self.directory / "token"
        if not token.exists():
            token.write_text(f"{AGENT}\n")
        places = {"server": self.url, "token_file": str(token), "ca_file": str(self.authority)}
        step = Step("leave", "kubernetes-node", {**places, **(settings or {})})
        return Task(MACHINE, step, event, "web-0", Budget(MACHINE, seconds), Receipts(self.directory, "run"))

    def do(self, event: ScheduledEvent = EVENT, seconds: float = 60, **settings: object) -> StepEnd:
        return KubernetesNode(self.pace).do(self.task(event, settings, seconds))

    def undo(self, event: ScheduledEvent = EVENT, **settings: object) -> StepEnd:
        return KubernetesNode(self.pace).undo(self.task(event, settings))
