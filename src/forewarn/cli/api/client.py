"""The operator API from the outside, with nothing but the standard library.

``http.client`` is used directly because it ignores proxies in the environment: a region is talked to where it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from forewarn import __version__
from forewarn.cli.api.shapes import (
    Campaign,
    Event,
    EventStory,
    Fault,
    Fleet,
    Host,
    Nodes,
    Outcome,
    Policy,
    Pong,
    Read,
    ResourceManager,
    ScaleSet,
    ScaleSetStory,
    Scope,
    Search,
    SettingShown,
    Vm,
    VmStory,
)
from forewarn.cli.api.time_shapes import Activities, Clock, Forecast, Record, Turned, Verdict
from forewarn.settings.errors import CommandFailed, Exit, usage

DEFAULT_URL = "http://127.0.0.1:16926"
CONNECT_SECONDS = 10.0  # Linux sends a SYN again after 1, 3 and 7 s: three lost packets are survived
ANSWER_SECONDS = 600.0  # ours: moving the clock of a large region takes minutes
NAMES_AT_ONCE = 5_000  # half of what the API takes in one request (MOST_NAMES of web/operator/schema/requests.py)
PAGE = 10_000  # the most that the API gives at once

Parameters = Mapping[str, str | int | None]


class Unreachable(CommandFailed):
    """Nothing there answers as a forewarn server does."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.UNREACHABLE)


@dataclass(frozen=True)
class Server:
    """Where the operator API is, and the secret it may want."""

    url: str
    token: str = ""

    @classmethod
    def find(cls, url: str | None) -> Server:
        """The option, then FOREWARN_URL, then the place where ``forewarn serve`` listens unless told otherwise."""
        chosen = (url or os.environ.get("FOREWARN_URL") or DEFAULT_URL).rstrip("/")
        parts = urlsplit(chosen)
        try:
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise usage(f"{chosen!r} is not the address of a server; write it as {DEFAULT_URL}.")
        return cls(chosen, os.environ.get("FOREWARN_TOKEN", ""))

    def open(
        self,
        method: str,
        path: str,
        parameters: Parameters | None = None,
        body: object = None,
        patience_seconds: float = ANSWER_SECONDS,
    ) -> tuple[HTTPConnection, HTTPResponse]:
        """Send one request; the caller reads the answer and closes both."""
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
            connection.sock.settimeout(patience_seconds)
            target = parts.path + path + _query(parameters or {})
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, target, content, self._headers(content))
            return connection, connection.getresponse()
        except (OSError, HTTPException, ValueError) as problem:
            connection.close()
            raise self._unreachable(problem) from None

    def ask(self, method: str, path: str, parameters: Parameters | None = None, body: object = None) -> Any:
        """One request and its JSON answer; a refusal becomes the server's own sentence."""
        connection, response = self.open(method, path, parameters, body)
        try:
            content = response.read()
        except (OSError, HTTPException) as problem:
            raise self._unreachable(problem) from None
        finally:
            response.close()
            connection.close()
        return self.answer(response, content)

    def content(self, path: str, parameters: Parameters) -> tuple[bytes, Mapping[str, str]]:
        """The body of a GET as it is, and its header fields by their names in lower case."""
        connection, response = self.open("GET", path, parameters)
        try:
            found = response.read()
        except (OSError, HTTPException) as problem:
            raise self._unreachable(problem) from None
        finally:
            response.close()
            connection.close()
        if response.status >= 400:
            self.answer(response, found)
        return found, {name.lower(): value for name, value in response.headers.items()}

    def answer(self, response: HTTPResponse, content: bytes) -> Any:
        """The JSON of an answer, or the refusal in it."""
        try:
            found = json.loads(content) if content else None
        except ValueError:
            raise self._stranger(response.status) from None
        if response.status < 400:
            return found
        error = found.get("error") if isinstance(found, dict) else None
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            raise self._stranger(response.status)
        raise _refusal(response.status, error)

    def _headers(self, content: bytes | None) -> dict[str, str]:
        headers = {"Connection": "close", "Accept": "application/json", "User-Agent": f"forewarn/{__version__}"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def _unreachable(self, problem: Exception) -> Unreachable:
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        return Unreachable(
            f"no server answers at {self.url} ({reason}); start one with 'forewarn serve', or set FOREWARN_URL."
        )

    def _stranger(self, status: int) -> Unreachable:
        if status in (502, 503, 504):
            return Unreachable(
                f"what answers at {self.url} (status {status}) is not a forewarn server, but perhaps a load balancer "
                "that has no node to ask; try again in a while."
            )
        return Unreachable(
            f"what answers at {self.url} (status {status}) is not a forewarn server; check FOREWARN_URL."
        )


def _query(parameters: Parameters) -> str:
    given = {key: value for key, value in parameters.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""


def _refusal(status: int, error: Mapping[str, Any]) -> CommandFailed:
    message = str(error["message"])
    if error.get("kind") == "unauthorized" or status == 401:
        message = f"{message} (the client takes its token from FOREWARN_TOKEN)"
    if status >= 500 and error.get("request_id"):
        message = f"{message} (request {error['request_id']})"
    return CommandFailed(message, Exit.NOT_FOUND if error.get("kind") == "not_found" else Exit.FAILED)


def _named(path: str, *names: str) -> str:
    return path.format(*(quote(name, safe="") for name in names))


@dataclass(frozen=True)
class OperatorClient:
    """One method for each thing the API can do, with the shape of its answer."""

    server: Server
    dry_run: bool = False  # what becomes a command of the region is only asked about, and not done

    def ping(self) -> Pong:
        found = self.server.ask("GET", "/v1/ping")
        if not isinstance(found, dict) or found.get("name") != "forewarn":
            raise Unreachable(f"what answers at {self.server.url} is not a forewarn server; check FOREWARN_URL.")
        return cast(Pong, found)

    def settings(self) -> list[SettingShown]:
        found = self.server.ask("GET", "/v1/settings")
        return cast(list[SettingShown], found)

    def resource_manager(self) -> ResourceManager:
        return cast(ResourceManager, self.server.ask("GET", "/v1/resource-manager"))

    def nodes(self) -> Nodes:
        return cast(Nodes, self.server.ask("GET", "/v1/nodes"))

    def fleet(self) -> Fleet:
        return cast(Fleet, self.server.ask("GET", "/v1/fleet"))

    def search(self, text: str, limit: int) -> Search:
        return cast(Search, self.server.ask("GET", "/v1/search", {"q": text, "limit": limit}))

    # VMs
    def create_vms(self, body: Mapping[str, Any]) -> list[str]:
        return cast(list[str], self.order("POST", "/v1/vms", body=body)["created"])

    def vms(self, wanted: Parameters | None = None) -> Iterator[Vm]:
        return cast(Iterator[Vm], self._pages("/v1/vms", "vms", wanted))

    def vm(self, name: str) -> VmStory:
        return cast(VmStory, self.server.ask("GET", _named("/v1/vms/{}", name)))

    def seen(self, name: str, what: str, api_version: str = "") -> tuple[bytes, Mapping[str, str]]:
        """``what`` is document or instance: the bytes that the VM would get, and the header fields about them."""
        return self.server.content(_named("/v1/vms/{}/{}", name, what), {"api-version": api_version})

    def read(self, name: str, api_version: str = "") -> Read:
        """One read by this VM, which enables its scope."""
        path = _named("/v1/vms/{}/read", name)
        return cast(Read, self.order("POST", path, body={}, parameters={"api-version": api_version}))

    def operate(self, operation: str, names: Sequence[str]) -> Outcome:
        """``operation`` is restart, redeploy, reimage, stop, deallocate, start, delete or evict."""
        return cast(Outcome, self.order("POST", f"/v1/vms/{operation}", body={"names": list(names)}))

    def bind_vm(self, name: str, binding: Mapping[str, str]) -> Vm:
        return cast(Vm, self.order("PUT", _named("/v1/vms/{}/binding", name), body=binding))

    def unbind_vm(self, name: str) -> Vm:
        return cast(Vm, self.order("DELETE", _named("/v1/vms/{}/binding", name)))

    # Scale sets
    def create_scale_set(self, body: Mapping[str, Any]) -> Outcome:
        return cast(Outcome, self.order("POST", "/v1/scale-sets", body=body))

    def scale_sets(self) -> Iterator[ScaleSet]:
        return cast(Iterator[ScaleSet], self._pages("/v1/scale-sets", "scale_sets"))

    def scale_set(self, name: str) -> ScaleSetStory:
        return cast(ScaleSetStory, self.server.ask("GET", _named("/v1/scale-sets/{}", name)))

    def change_scale_set(self, name: str, body: Mapping[str, Any]) -> Outcome:
        return cast(Outcome, self.order("PUT", _named("/v1/scale-sets/{}", name), body=body))

    def delete_scale_set(self, name: str) -> Outcome:
        return cast(Outcome, self.order("DELETE", _named("/v1/scale-sets/{}", name)))

    def operate_scale_set(self, name: str, operation: str, body: Mapping[str, Any]) -> Outcome:
        """``operation`` is scale, delete-instances, upgrade, protect, or what can be done to VMs."""
        return cast(Outcome, self.order("POST", _named("/v1/scale-sets/{}/{}", name, operation), body=body))

    # Scopes
    def scopes(self, wanted: Parameters | None = None) -> Iterator[Scope]:
        return cast(Iterator[Scope], self._pages("/v1/scopes", "scopes", wanted))

    def scope(self, kind: str, name: str) -> Scope:
        return cast(Scope, self.server.ask("GET", _named("/v1/scopes/{}/{}", kind, name)))

    def set_policy(self, kind: str, name: str, policy: Policy) -> None:
        self.order("PUT", _named("/v1/scopes/{}/{}/policy", kind, name), body=policy)

    # Hosts
    def hosts(self, wanted: Parameters | None = None) -> Iterator[Host]:
        return cast(Iterator[Host], self._pages("/v1/hosts", "hosts", wanted))

    def host(self, name: str) -> Host:
        return cast(Host, self.server.ask("GET", _named("/v1/hosts/{}", name)))

    def maintain(self, hosts: Sequence[str], kind: str) -> Outcome:
        return cast(Outcome, self.order("POST", "/v1/hosts/maintain", body={"hosts": list(hosts), "kind": kind}))

    def fail_hosts(self, hosts: Sequence[str]) -> Outcome:
        return cast(Outcome, self.order("POST", "/v1/hosts/fail", body={"hosts": list(hosts)}))

    # Campaigns
    def start_campaign(self, body: Mapping[str, Any]) -> Campaign:
        return cast(Campaign, self.order("POST", "/v1/campaigns", body=body))

    def campaigns(self) -> Iterator[Campaign]:
        return cast(Iterator[Campaign], self._pages("/v1/campaigns", "campaigns"))

    def campaign(self, campaign_id: str) -> Campaign:
        return cast(Campaign, self.server.ask("GET", _named("/v1/campaigns/{}", campaign_id)))

    def turn_campaign(self, campaign_id: str, operation: str) -> Campaign:
        """``operation`` is pause, resume or cancel."""
        found = self.order("POST", _named("/v1/campaigns/{}/{}", campaign_id, operation), body={})
        return cast(Campaign, found)

    # Events
    def events(self, wanted: Parameters | None = None) -> Iterator[Event]:
        """Those that are active; where ``since`` or ``until`` is wanted, those that have ended too."""
        return cast(Iterator[Event], self._pages("/v1/events", "events", wanted))

    def event(self, event_id: str) -> EventStory:
        return cast(EventStory, self.server.ask("GET", _named("/v1/events/{}", event_id)))

    def turn_events(self, operation: str, ids: Sequence[str]) -> Outcome:
        """``operation`` is approve or cancel."""
        return cast(Outcome, self.order("POST", f"/v1/events/{operation}", body={"ids": list(ids)}))

    # Time
    def forecast(self, wanted: Parameters) -> Forecast:
        """What will happen if nobody acts, until an instant, of one event, scope or VM."""
        return cast(Forecast, self.server.ask("GET", "/v1/forecast", wanted))

    def clock(self) -> Clock:
        return cast(Clock, self.server.ask("GET", "/v1/clock"))

    def turn_clock(self, operation: str, body: Mapping[str, Any]) -> Turned:
        """``operation`` is advance, next or to."""
        return cast(Turned, self.server.ask("POST", f"/v1/clock/{operation}", body=body))

    def set_speed(self, speed: float) -> Clock:
        return cast(Clock, self.server.ask("POST", "/v1/clock/speed", body={"speed": speed}))

    # Faults
    def add_fault(self, body: Mapping[str, Any]) -> Fault:
        return cast(Fault, self.server.ask("POST", "/v1/faults", body=body))

    def faults(self) -> list[Fault]:
        return cast(list[Fault], self.server.ask("GET", "/v1/faults")["faults"])

    def clear_faults(self, fault_id: str = "") -> None:
        self.server.ask("DELETE", _named("/v1/faults/{}", fault_id) if fault_id else "/v1/faults")

    # Tokens
    def create_token(self, name: str, role: str, vms: list[str], host: str) -> dict[str, Any]:
        body = {"name": name, "role": role, **({"vms": vms} if vms else {}), **({"host": host} if host else {})}
        return cast(dict[str, Any], self.server.ask("POST", "/v1/tokens", body=body))

    def tokens(self) -> list[dict[str, Any]]:
        return cast(list[dict[str, Any]], self.server.ask("GET", "/v1/tokens")["tokens"])

    def revoke_token(self, name: str) -> str:
        return str(self.server.ask("DELETE", _named("/v1/tokens/{}", name))["revoked"])

    # Journal
    def records(self, after: int = 0, limit: int = PAGE, about: str = "") -> list[Record]:
        found = self.server.ask("GET", "/v1/journal", {"after": after, "limit": limit, "about": about})
        return cast(list[Record], found["records"])

    def activity(self, after: int | None, limit: int, wanted: Parameters) -> Activities:
        """The newest where ``after`` is None and no time is ``wanted``; else from there on."""
        return cast(Activities, self.server.ask("GET", "/v1/activity", {"after": after, "limit": limit, **wanted}))

    def verify(self) -> Verdict:
        return cast(Verdict, self.server.ask("POST", "/v1/journal/verify", body={}))

    def order(self, method: str, path: str, body: object = None, parameters: Parameters | None = None) -> Any:
        """A request that becomes a command of the region, or the dry run of one."""
        if not self.dry_run:
            return self.server.ask(method, path, parameters, body)
        if "region" not in self.ping():  # which 0.1 does not tell; it takes no notice of dry_run, and would act
            raise CommandFailed("the server is of version 0.1, which knows no dry run. Nothing was done.")
        return self.server.ask(method, path, {**(parameters or {}), "dry_run": "true"}, body)

    def _pages(self, path: str, key: str, parameters: Parameters | None = None) -> Iterator[Any]:
        """Everything a list holds, page by page."""
        after: str | None = ""
        while after is not None:
            found = self.server.ask("GET", path, {**(parameters or {}), "after": after, "limit": PAGE})
            page = found if isinstance(found, list) else found[key]
            yield from page
            after = found.get("next") if isinstance(found, dict) else None
