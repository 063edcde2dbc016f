"""How a Resource Manager says no."""

from __future__ import annotations

from typing import Any

from forewarn.core.refusal import Hint, Refused
from forewarn.web.resource_manager.call import ArmReply


class ArmError(Exception):
    """An error in Azure's envelope. Nothing has changed."""

    def __init__(
        self, status: int, code: str, message: str, target: str = "", details: list[Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.target = target
        self.details = details

    def error(self) -> dict[str, Any]:
        """The inner object, which failed operations and deployments show too."""
        found: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.target:
            found["target"] = self.target
        if self.details:
            found["details"] = self.details
        return found

    def reply(self) -> ArmReply:
        return ArmReply(self.status, {"error": self.error()})


_STATUS = {
    Hint.INVALID: (400, "InvalidParameter"),
    Hint.NOT_FOUND: (404, "NotFound"),
    Hint.CONFLICT: (409, "OperationNotAllowed"),
}


def from_refusal(refused: Refused) -> ArmError:
    """The core's no in Azure's words."""
    status, code = _STATUS[refused.hint]
    return ArmError(status, code, refused.message)


def resource_not_found(kind: str, name: str, group: str) -> ArmError:
    """What the front end says of a resource that is not there. ``kind`` is like Microsoft.Compute/virtualMachines."""
    return ArmError(
        404,
        "ResourceNotFound",
        f"The Resource '{kind}/{name}' under resource group '{group}' was not found. "
        "For more details please go to https://aka.ms/ARMResourceNotFoundFix",
    )


def group_not_found(group: str) -> ArmError:
    return ArmError(404, "ResourceGroupNotFound", f"Resource group '{group}' could not be found.")


def invalid(target: str, message: str) -> ArmError:
    return ArmError(400, "InvalidParameter", message, target)
