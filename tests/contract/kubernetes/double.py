"""An API server in this process, as far as the agent asks one: nodes, pods, events, disruption budgets, evictions.

Written from Kubernetes' API reference and its pages on API-initiated eviction and on updating objects in place:
optimistic locks by ``resourceVersion`` (409), merge patches (RFC 7386), conditions merged by their type, graceful
deletion of pods that have a node, 429 where a budget allows no disruption, ``Status`` for every failure. What stands in
``cases.py`` holds for it and for a real one (``tests/platforms/kubernetes``).
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from forewarn.plane.clock import wall_time
from forewarn.web.resource_manager.login.tls import prepare
from tests.contract.kubernetes.bench import ADMIN, AGENT, ClusterBench

Object = dict[str, Any]
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
KINDS = {"nodes": "Node", "pods": "Pod", "events": "Event", "poddisruptionbudgets": "PodDisruptionBudget"}
EVICTIONS = {"name": "pods/eviction", "namespaced": True, "group": "policy", "version": "v1", "kind": "Eviction"}


class Failure(Exception):  # noqa: N818 - it says what happened
    """An answer with an object of kind Status."""

    def __init__(self, code: int, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.code, self.message, self.retry_after = code, message, retry_after


class Cluster:
    """What such a server keeps, and its rules."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, str], Object] = {}  # by resource, namespace and name
        self.numbers = count(1)
        self.lock = threading.RLock()
        self.before: Callable[[str, str], None] = lambda verb, path: None  # a test may do or raise something here

    def changed(self, found: Object) -> Object:
        found["metadata"]["resourceVersion"] = str(next(self.numbers))
        return found

    def create(self, resource: str, namespace: str, body: Object) -> Object:
        about = body.setdefault("metadata", {})
        name = about.setdefault("name", f"{about.get('generateName', '')}{next(self.numbers)}")
        if (resource, namespace, name) in self.kept:
            raise Failure(409, f'{resource} "{name}" already exists')
        if namespace:
            about["namespace"] = namespace
        about["uid"], body["kind"] = f"uid-{next(self.numbers)}", KINDS[resource]
        if resource == "pods":
            body.setdefault("status", {}).setdefault("phase", "Pending")
        self.kept[resource, namespace, name] = self.changed(body)
        return body

    def find(self, resource: str, namespace: str, name: str) -> Object:
        try:
            return self.kept[resource, namespace, name]
        except KeyError:
            raise Failure(404, f'{resource} "{name}" not found') from None

    def list(self, resource: str, namespace: str, query: dict[str, list[str]]) -> Object:
        selector = query.get("fieldSelector", [""])[0]
        found = [each for (kind, where, _), each in sorted(self.kept.items()) if kind == resource]
        found = [each for each in found if not namespace or each["metadata"].get("namespace") == namespace]
        if selector.startswith("spec.nodeName="):
            found = [each for each in found if each["spec"].get("nodeName") == selector.partition("=")[2]]
        elif selector:
            raise Failure(400, f"field label not supported: {selector}")
        first, most = int(query.get("continue", ["0"])[0]), int(query.get("limit", ["1000000"])[0])
        more = {"continue": str(first + most)} if first + most < len(found) else {}
        return {"kind": f"{KINDS[resource]}List", "metadata": more, "items": found[first : first + most]}

    def patch(self, found: Object, body: Object, form: str, part: str) -> Object:
        given = body.get("metadata", {}).pop("resourceVersion", None)
        if given is not None and given != found["metadata"]["resourceVersion"]:
            raise Failure(409, "the object has been modified; please apply your changes to the latest version")
        if form not in (MERGE, STRATEGIC):
            raise Failure(415, "the body of the request was in an unknown format")
        body = {key: value for key, value in body.items() if (key == "status") == (part == "status")}
        if form == STRATEGIC and "conditions" in body.get("status", {}):
            new = {each["type"]: each for each in body["status"]["conditions"]}
            there = found.setdefault("status", {}).get("conditions", [])
            kept = [each | new.pop(each["type"], {}) for each in there]
            body["status"]["conditions"] = [*kept, *new.values()]
        merged = merge(found, body)
        found.clear()
        found.update(merged)
        return self.changed(found)

    def delete(self, resource: str, namespace: str, name: str, options: Object) -> Object:
        found = self.find(resource, namespace, name)
        wanted = (options.get("preconditions") or {}).get("uid")
        if wanted not in (None, found["metadata"]["uid"]):
            raise Failure(409, "the UID in the precondition does not match the UID in record")
        usual = found["spec"].get("terminationGracePeriodSeconds", 30) if resource == "pods" else 0
        grace = options.get("gracePeriodSeconds", usual)
        if grace and found["spec"].get("nodeName"):  # its kubelet ends it, and deletes it for good
            found["metadata"]["deletionTimestamp"] = f"{wall_time():%Y-%m-%dT%H:%M:%SZ}"
            found["metadata"]["deletionGracePeriodSeconds"] = grace
            return self.changed(found)
        return self.kept.pop((resource, namespace, name))

    def evict(self, namespace: str, name: str, body: Object) -> Object:
        if (body.get("apiVersion"), body.get("kind")) != ("policy/v1", "Eviction"):
            raise Failure(400, f"no kind {body.get('kind')} in {body.get('apiVersion')}")
        pod = self.find("pods", namespace, name)
        labels = pod["metadata"].get("labels", {})
        budgets = [
            each
            for (kind, where, _), each in self.kept.items()
            if (kind, where) == ("poddisruptionbudgets", namespace)
            and each["spec"]["selector"]["matchLabels"].items() <= labels.items()
        ]
        if len(budgets) > 1:
            raise Failure(500, "This pod has more than one PodDisruptionBudget, which the eviction does not support.")
        if budgets and pod["status"]["phase"] == "Running":
            status = budgets[0].setdefault("status", {})
            if status.get("disruptionsAllowed", 0) < 1:
                raise Failure(429, "Cannot evict pod as it would violate the pod's disruption budget.")
            status["disruptionsAllowed"] -= 1
        self.delete("pods", namespace, name, body.get("deleteOptions") or {})
        return {"kind": "Status", "status": "Success", "code": 201}

    def answer(self, verb: str, target: str, body: Object, form: str) -> tuple[int, Object]:
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        words = [unquote(each) for each in path.split("/") if each]
        if path == "/api/v1":
            return 200, {"kind": "APIResourceList", "resources": [{"name": "pods"}, EVICTIONS]}
        words = words[3:] if words[:1] == ["apis"] else words[2:]
        namespace = words.pop(1) if words[:1] == ["namespaces"] and words[2:] else ""
        words = words[1:] if namespace else words
        resource, name, part = (*words, "", "")[:3]
        if resource not in KINDS:
            raise Failure(404, "the server could not find the requested resource")
        if verb == "POST" and part == "eviction":
            return 201, self.evict(namespace, name, body)
        if verb == "POST":
            return 201, self.create(resource, namespace, body)
        if not name:
            return 200, self.list(resource, namespace, query)
        if verb == "DELETE":
            return 200, self.delete(resource, namespace, name, body)
        found = self.find(resource, namespace, name)
        return 200, found if verb == "GET" else self.patch(found, body, form, part)


def merge(found: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(found) if isinstance(found, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


@contextmanager
def served(directory: Path) -> Iterator[tuple[Cluster, ClusterBench]]:
    """Such a server on a port of loopback, by https, with a bench around it."""
    cluster = Cluster()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length) or b"{}")
            try:
                if self.headers.get("Authorization") not in (f"Bearer {ADMIN}", f"Bearer {AGENT}"):
                    raise Failure(401, "Unauthorized")
                if self.headers["Authorization"] == f"Bearer {AGENT}":
                    cluster.before(self.command, self.path)
                with cluster.lock:
                    form = self.headers.get("Content-Type", "")
                    code, answer = cluster.answer(self.command, self.path, body, form)
                    text = json.dumps(answer).encode()
            except Failure as failure:
                code = failure.code
                text = json.dumps({"kind": "Status", "code": code, "message": failure.message}).encode()
                if failure.retry_after:
                    self.send_response(code)
                    self.send_header("Retry-After", str(failure.retry_after))
                    self.finish_with(text)
                    return
            self.send_response(code)
            self.finish_with(text)

        def finish_with(self, text: bytes) -> None:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):  # whatever the verb
                return self.do
            raise AttributeError(name)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    files = prepare(directory / "tls", (), wall_time())
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(files.certificate, files.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that does not believe us hangs up
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            url = f"https://127.0.0.1:{server.server_address[1]}"
            yield cluster, ClusterBench(url, files.authority, directory, "policy/v1")
        finally:
            server.shutdown()
            thread.join()
