"""Real machines and their hosts, as a client asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote

from forewarn.cli.api.client import OperatorClient
from forewarn.cli.api.machine_shapes import Adopted, Check, HostChanged, Machines, Released, Unadopteds
from forewarn.cli.api.shapes import Outcome


@dataclass(frozen=True)
class MachineCalls:
    """A part of the operator API, over a client of all of it."""

    client: OperatorClient

    def machines(self) -> Machines:
        return cast(Machines, self.client.server.ask("GET", "/v1/machines"))

    def unadopted(self) -> Unadopteds:
        return cast(Unadopteds, self.client.server.ask("GET", "/v1/machines/unadopted"))

    def adopt(self, body: Mapping[str, object]) -> Adopted:
        return cast(Adopted, self.client.order("POST", "/v1/machines/adopt", body=body))

    def check(self, vm: str, way: str = "") -> Check:
        path = f"/v1/machines/{quote(vm, safe='')}/check"
        return cast(Check, self.client.server.ask("GET", path, {"way": way}))

    def release(self, vm: str) -> Released:
        return cast(Released, self.client.order("POST", "/v1/machines/release", body={"vm": vm}))

    def change_host(self, operation: str, name: str) -> HostChanged:
        """``operation`` is add, remove, drain or resume."""
        return cast(HostChanged, self.client.order("POST", f"/v1/hosts/{operation}", body={"name": name}))

    def confirm_lost(self, name: str) -> Outcome:
        return cast(Outcome, self.client.order("POST", "/v1/hosts/confirm-lost", body={"name": name}))
