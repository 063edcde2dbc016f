"""Resource ids: reading a path as what it names. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forewarn.web import arm_ids
from forewarn.web.resource_manager.errors import ArmError

_WORDS = {word.lower(): word for word in ("subscriptions", "resourceGroups", "providers", "locations")}
_NAMESPACES = {
    name.lower(): name
    for name in (
        "Microsoft.Authorization",
        "Microsoft.Compute",
        "Microsoft.Maintenance",
        "Microsoft.ManagedIdentity",
        "Microsoft.Network",
        "Microsoft.Resources",
        "Microsoft.Storage",
    )
}


@dataclass(frozen=True)
class Place:
    """A resource, or a collection of them where the last kind has no name."""

    scope: str  # everything before the last /providers/
    namespace: str
    kinds: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def is_collection(self) -> bool:
        return len(self.names) < len(self.kinds)

    @property
    def id(self) -> str:
        return arm_ids.resource_id(self.scope, self.kind, *self.names)

    @property
    def kind(self) -> str:
        """Such as Microsoft.Network/virtualNetworks/subnets."""
        return "/".join((self.namespace, *self.kinds))

    @property
    def name(self) -> str:
        return self.names[-1]

    @property
    def group(self) -> str:
        """The resource group's name; empty outside of one."""
        parts = self.scope.split("/")
        return parts[4] if len(parts) > 4 and parts[3].lower() == "resourcegroups" else ""

    @property
    def parent(self) -> Place | None:
        """The resource that a nested one is part of."""
        if len(self.kinds) < 2:
            return None
        return Place(self.scope, self.namespace, self.kinds[:-1], self.names[: len(self.kinds) - 1])

    def head(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "type": self.kind}


def parse(path: str) -> Place | None:
    """What a path names, in the usual spelling of its fixed words. None where no provider is in it."""
    parts = [part for part in path.split("/") if part]
    folded = [part.lower() for part in parts]
    if "providers" not in folded:
        return None
    at = len(folded) - 1 - folded[::-1].index("providers")
    if len(parts) < at + 3:
        return None
    scope = "".join(f"/{part}" for part in tidy(parts[:at]))
    rest = parts[at + 2 :]
    return Place(scope, _NAMESPACES.get(folded[at + 1], parts[at + 1]), tuple(rest[::2]), tuple(rest[1::2]))


def tidy(parts: list[str]) -> list[str]:
    """Fixed words in their usual spelling. They stand at the even places; names between them are left alone."""
    return [_WORDS.get(part.lower(), part) if place % 2 == 0 else part for place, part in enumerate(parts)]


def require(path: str) -> Place:
    """What a path names, or a 404."""
    found = parse(path)
    if found is None:
        raise ArmError(404, "NotFound", f"There is nothing at '{path}'.")
    return found
