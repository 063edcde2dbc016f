"""``kubernetes-node``: the API server is asked to say on the node why, to cordon it, to evict its pods; and back.

By HTTP with the service account's token, so that a pod needs no kubectl. What was changed is written on the node
itself: an agent that is started anew, or another one, takes back what was done and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from forewarn import __version__
from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps.keys import (
    Key,
    StepKeys,
    check_duration,
    check_flag,
    check_https,
    check_path,
    check_text,
)
from forewarn.guest.agent.steps.kind import Need, Settings, Task, over
from forewarn.guest.agent.values import Step
from forewarn.guest.system.parts import System
from forewarn.wire.json_bytes import WireError, read_json, write_json
from forewarn.wire.times import format_rfc1123, parse_duration

MARK = "forewarn/scheduled-event"  # label and taint: the type of the event
EVENTS = "forewarn/events"  # annotation: ids of the events for which the node is kept free
CORDONED = "forewarn/cordoned"  # annotation: that it was us who made it unschedulable
CONDITION = "ScheduledEvent"

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # where pods find it
_PATIENCE_SECONDS = 10.0  # ours: for one answer; kubectl waits as long as it takes
_FASTER_SECONDS = 0.1  # ours: at most, before a change that somebody else was faster with is tried again
_MOST_BYTES = 32 * 2**20  # ours: of one answer; 500 pods are some 5 MB
_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class ApiPace:
    """How often the API server is asked, and for how much at once."""

    look_seconds: float = 1.0  # ours: between two looks at the pods that are to go
    again_seconds: float = 5.0  # as kubectl drain, for an eviction that a disruption budget does not allow now
    page: int = 500  # as kubectl has it, of pods in one answer


_USUAL = ApiPace()


class KubernetesNode:
    """Pods of daemon sets and mirror pods stay, as ``kubectl drain --ignore-daemonsets`` leaves them."""

    one_program = False
    keys = StepKeys(
        {
            "node": Key(check_text, "its name in the cluster; default: the variable `NODE_NAME`, else this VM's name"),
            "drain": Key(check_flag, "default `true`: pods are evicted too, within the time there is"),
            "grace": Key(check_duration, "what each pod is given to end; default: what the pod says", '"30s"'),
            "server": Key(check_https, "the API server; default: where pods find it", '"https://10.0.0.1:6443"'),
            "token_file": Key(check_path, f"default `{_ACCOUNT}/token`", f'"{_ACCOUNT}/token"'),
            "ca_file": Key(check_path, f"default `{_ACCOUNT}/ca.crt`", f'"{_ACCOUNT}/ca.crt"'),
        }
    )

    def __init__(self, pace: ApiPace = _USUAL) -> None:
        self._pace = pace

    def does(self, settings: Settings) -> str:
        drained = " and drain" if settings.get("drain", True) else ""
        return f"say on {_shown(settings)} why, cordon{drained} it"

    def undoes(self, settings: Settings) -> str:
        return f"take back what was said, uncordon {_shown(settings)}"

    def needs(self, settings: Settings) -> Iterable[Need]:
        path = str(settings.get("token_file", f"{_ACCOUNT}/token"))
        return (Need("directory", path.rpartition("/")[0] or "/"),)

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> StepEnd:
        return _carry_out(_free, task, self._pace)

    def undo(self, task: Task) -> StepEnd:
        return _carry_out(_give_back, task, self._pace)


def _shown(settings: Settings) -> str:
    return f"node {settings['node']}" if "node" in settings else "this node"


class _ApiRefusal(Exception):  # noqa: N818 - it says what happened
    """The API server's answer, as a sentence; trying again would not change it."""


class _OutOfTime(Exception):  # noqa: N818 - it says what happened
    """The step's time is over. Its text says what was being waited for."""


def _carry_out(work: Callable[[Task, _Api], str], task: Task, pace: ApiPace) -> StepEnd:
    try:
        unsaid = work(task, _Api(task, pace))
    except _OutOfTime as why:
        return over(task, str(why))
    except (_ApiRefusal, OSError, ValueError) as why:
        return StepEnd(StepOutcome.FAILED, str(why))
    return StepEnd(StepOutcome.DONE, unsaid)


# The two ways


def _free(task: Task, api: _Api) -> str:
    node = api.change_node(lambda found: _marked(found, task.event.event_id, task.event.type))
    unsaid = _tell(task, api, node, begun=True)
    if task.step.settings.get("drain", True):
        _drain(task, api)
    return unsaid


def _give_back(task: Task, api: _Api) -> str:
    node = api.change_node(lambda found: _unmarked(found, task.event.event_id))
    if _events_on(node):
        return "another event still keeps the node free"
    return _tell(task, api, node, begun=False)


def _events_on(node: Mapping[str, Any]) -> list[str]:
    text = (node["metadata"].get("annotations") or {}).get(EVENTS, "")
    return [each for each in text.split(",") if each]


def _marked(node: Mapping[str, Any], event_id: str, type_: str) -> dict[str, Any]:
    """The changes to a node that is to be freed for an event: its mark, and that it takes no new pods."""
    events, spec = _events_on(node), node.get("spec") or {}
    ours = not spec.get("unschedulable") or CORDONED in (node["metadata"].get("annotations") or {})
    annotations = {EVENTS: ",".join([*(each for each in events if each != event_id), event_id])}
    taint = {"key": MARK, "value": type_, "effect": "NoSchedule"}
    return {
        "metadata": {"labels": {MARK: type_}, "annotations": annotations | ({CORDONED: "true"} if ours else {})},
        "spec": {"unschedulable": True, "taints": [*_other_taints(spec), taint]},
    }


def _unmarked(node: Mapping[str, Any], event_id: str) -> dict[str, Any] | None:
    """The changes to a node when an event is over that it was freed for; None where it bears no mark of that event."""
    events, spec = _events_on(node), node.get("spec") or {}
    if event_id not in events:
        return None
    left = [each for each in events if each != event_id]
    if left:
        return {"metadata": {"annotations": {EVENTS: ",".join(left)}}}
    cordoned = CORDONED in (node["metadata"].get("annotations") or {})
    return {
        "metadata": {"labels": {MARK: None}, "annotations": {EVENTS: None, CORDONED: None}},
        "spec": {"taints": _other_taints(spec) or None, **({"unschedulable": None} if cordoned else {})},
    }


def _other_taints(spec: Mapping[str, Any]) -> list[Any]:
    return [each for each in spec.get("taints") or [] if each.get("key") != MARK]


def _tell(task: Task, api: _Api, node: Mapping[str, Any], *, begun: bool) -> str:
    """Say on the node which event is at hand. What could not be said is returned as a sentence, and stops nothing."""
    event, now = task.event, task.system.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    when = "" if event.not_before is None else f", not before {format_rfc1123(event.not_before)}"
    message = f"{event.type} {event.event_id}{when}" if begun else f"{event.type} {event.event_id} is over"
    condition = {
        "type": CONDITION,
        "status": "True" if begun else "False",
        "reason": event.type if begun else "NoScheduledEvent",
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    told = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": "forewarn-", "namespace": "default"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Node",
            "name": api.node,
            "uid": node["metadata"].get("uid", ""),
        },
        "reason": f"{CONDITION}{'Begun' if begun else 'Over'}",
        "message": message,
        "type": "Warning" if begun else "Normal",
        "source": {"component": "forewarn-agent", "host": api.node},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    unsaid = []
    for what, verb, path, body, form in (
        ("the condition", "PATCH", f"{api.node_path}/status", {"status": {"conditions": [condition]}}, _STRATEGIC),
        ("the event", "POST", "/api/v1/namespaces/default/events", told, "application/json"),
    ):
        try:
            api.ask(verb, path, body, form)
        except _ApiRefusal as why:
            unsaid.append(f"{what} could not be told: {why}")
    return "; ".join(unsaid)


# Draining


def _drain(task: Task, api: _Api) -> None:
    """Until no pod is left that has to go. A pod is asked to go once; where that is not allowed now, again."""
    version, asked, not_now = api.eviction_version(), set[str](), dict[str, tuple[float, str]]()
    while True:
        pods = [pod for pod in api.pods() if _has_to_go(pod)]
        if not pods:
            return
        now = task.system.clock.monotonic()
        for pod in pods:
            uid = pod["metadata"].get("uid", "")
            due = not_now.get(uid, (0.0, ""))[0] <= now
            if uid in asked or pod["metadata"].get("deletionTimestamp") or not due:
                continue
            why, seconds = api.evict(pod, version, task.text("grace"))
            if why:
                not_now[uid] = now + seconds, why
            else:
                asked.add(uid)
        if not task.budget.pause(api.pace.look_seconds):
            raise _OutOfTime(_still_there(pods, {uid: why for uid, (_, why) in not_now.items() if uid not in asked}))


def _has_to_go(pod: Mapping[str, Any]) -> bool:
    about = pod["metadata"]
    owners = about.get("ownerReferences") or []
    of_daemon_set = any(each.get("controller") and each.get("kind") == "DaemonSet" for each in owners)
    is_mirror = "kubernetes.io/config.mirror" in (about.get("annotations") or {})  # of a file on the node
    is_finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not (of_daemon_set or is_mirror or is_finished)


def _still_there(pods: list[Any], reasons: Mapping[str, str]) -> str:
    def named(pod: Mapping[str, Any]) -> str:
        about = pod["metadata"]
        why = reasons.get(about.get("uid", ""), "")
        return f"{about.get('namespace')}/{about.get('name')}{f' ({why})' if why else ''}"

    more = f" and {len(pods) - 3} more" if len(pods) > 3 else ""
    return f"still there: {', '.join(named(pod) for pod in pods[:3])}{more}"


# The API server


class _Api:
    """What is asked of it. The token is read for each question: those of pods are exchanged every hour."""

    def __init__(self, task: Task, pace: ApiPace) -> None:
        self._task, self.pace = task, pace
        self._host, self._port = _server(task, task.system)
        self._token = task.text("token_file", f"{_ACCOUNT}/token")
        self._ca = task.text("ca_file", f"{_ACCOUNT}/ca.crt")
        self.node = task.text("node") or task.system.environment.get("NODE_NAME", "") or task.own_name
        self.node_path = f"/api/v1/nodes/{quote(self.node, safe='')}"

    def change_node(self, changes: Callable[[dict[str, Any]], dict[str, Any] | None]) -> dict[str, Any]:
        """What ``changes`` makes of the node, as it is then; begun again where somebody else was faster."""
        while True:
            node = self.ask("GET", self.node_path)
            patch = changes(node)
            if patch is None:
                return node
            patch["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"]
            status, answer, _ = self._until_answered("PATCH", self.node_path, patch, _MERGE)
            if status != 409:
                return _good(status, answer, f"PATCH {self.node_path}")
            if not self._task.budget.pause(_FASTER_SECONDS * self._task.system.chance.random()):
                raise _OutOfTime("others change the node all the time")

    def pods(self) -> Iterator[dict[str, Any]]:
        """All that are bound to the node."""
        more = ""
        while True:
            query = {"fieldSelector": f"spec.nodeName={self.node}", "limit": str(self.pace.page)}
            found = self.ask("GET", f"/api/v1/pods?{urlencode(query | ({'continue': more} if more else {}))}")
            yield from found.get("items") or []
            more = (found.get("metadata") or {}).get("continue", "")
            if not more:
                return

    def eviction_version(self) -> str:
        """policy/v1 from 1.22 on, policy/v1beta1 before that: the server says which."""
        listed = self.ask("GET", "/api/v1").get("resources") or []
        found = [each for each in listed if each.get("name") == "pods/eviction"]
        if not found:
            raise _ApiRefusal("this API server knows no evictions")
        return f"{found[0].get('group', 'policy')}/{found[0].get('version', 'v1')}"

    def evict(self, pod: Mapping[str, Any], version: str, grace: str) -> tuple[str, float]:
        """Ask for a pod's eviction: why it is refused for now and when to ask again, ``("", 0)`` where it goes."""
        about = pod["metadata"]
        name, namespace = about.get("name", ""), about.get("namespace", "")
        options: dict[str, Any] = {"preconditions": {"uid": about.get("uid", "")}}  # not one that took its name
        if grace:
            options["gracePeriodSeconds"] = int(parse_duration(grace).total_seconds())
        body = {
            "apiVersion": version,
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}/eviction"
        status, answer, wait = self._call("POST", path, body, "application/json")
        if status in (404, 409) or 200 <= status < 300:  # gone; or another one has its name by now
            return "", 0.0
        if status in (429, 500, 502, 503, 504) or not status:
            return _message(status, answer), wait or self.pace.again_seconds
        raise _ApiRefusal(f"{namespace}/{name} was not evicted: {_message(status, answer)}")

    def ask(self, verb: str, path: str, body: object = None, form: str = "application/json") -> dict[str, Any]:
        """The answer; ``_ApiRefusal`` where it is a lasting no."""
        status, answer, _ = self._until_answered(verb, path, body, form)
        return _good(status, answer, f"{verb} {path.partition('?')[0]}")

    def _until_answered(self, verb: str, path: str, body: object, form: str) -> tuple[int, Any, float]:
        """Asked again as long as the server is away, or says that it is busy."""
        while True:
            status, answer, wait = self._call(verb, path, body, form)
            if status and status != 429 and status < 500:
                return status, answer, wait
            if not self._task.budget.pause(wait or self.pace.look_seconds):
                raise _OutOfTime(f"{verb} {path.partition('?')[0]}: {_message(status, answer)}")

    def _call(self, verb: str, path: str, body: object, form: str) -> tuple[int, Any, float]:
        """Status, answer, and after how many seconds to ask again; status 0 and a sentence where none came."""
        import ssl
        from http.client import HTTPException, HTTPSConnection

        token = Path(self._token).read_text("ascii").strip()  # a link: that is how a cluster exchanges it
        fields = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json",
            "User-Agent": f"forewarn-agent/{__version__}",
            **({"Content-Type": form} if body is not None else {}),
        }
        context = ssl.create_default_context(cafile=self._ca)
        seconds = max(0.1, min(_PATIENCE_SECONDS, self._task.budget.left()))
        connection = HTTPSConnection(self._host, self._port, timeout=seconds, context=context)
        try:
            connection.request(verb, path, None if body is None else write_json(body), fields)
            answer = connection.getresponse()
            text = answer.read(_MOST_BYTES + 1)
            wait = answer.getheader("Retry-After", "")
            if len(text) > _MOST_BYTES:
                raise _ApiRefusal(f"{verb} {path.partition('?')[0]}: the answer has more than {_MOST_BYTES} bytes")
            return answer.status, _read(text), float(wait) if wait.isdecimal() else 0.0
        except ssl.SSLCertVerificationError as problem:
            raise _ApiRefusal(f"the API server is not who {self._ca} says: {problem.verify_message}") from None
        except (OSError, HTTPException) as problem:
            return 0, str(getattr(problem, "strerror", None) or problem or type(problem).__name__).lower(), 0.0
        finally:
            connection.close()


def _server(task: Task, system: System) -> tuple[str, int]:
    if given := task.text("server"):
        parts = urlsplit(given)
        return parts.hostname or "", parts.port or 443
    host, port = (system.environment.get(f"KUBERNETES_SERVICE_{each}", "") for each in ("HOST", "PORT"))
    if not host:
        raise ValueError("there is no KUBERNETES_SERVICE_HOST, as pods have it: say server = ...")
    return host, int(port or 443)


def _read(text: bytes) -> Any:
    try:
        return read_json(text)
    except WireError:
        return text.decode("utf-8", "replace")


def _good(status: int, answer: Any, what: str) -> dict[str, Any]:
    if 200 <= status < 300 and isinstance(answer, dict):
        return answer
    raise _ApiRefusal(f"{what}: {_message(status, answer)}")


def _message(status: int, answer: Any) -> str:
    """An API server explains a failure with an object of kind Status."""
    said = str(answer.get("message", "") if isinstance(answer, dict) else answer)[:200]
    return f"{status} {said}".strip() if status else said or "no answer"
