"""Long-running operations, which clients wait for, and documents that the Resource Manager keeps and tells back."""

from __future__ import annotations

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.draft import Draft
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import fold


def start(draft: Draft, command: c.Together) -> None:
    """From here on the operation waits for the events that the commands made or found."""
    if command.operation in draft.region.operations:
        raise Refused(Hint.CONFLICT, f"There has been an operation {command.operation} already.")
    draft.record(f.OperationStarted(draft.now, command.operation, command.kind, tuple(draft.awaits)))


def look(draft: Draft, operation_id: str) -> None:
    """An operation ends when none of its events is left."""
    operation = draft.region.operations.get(operation_id)
    if operation is not None and operation.ended_at is None and not operation.waiting:
        draft.record(f.OperationEnded(draft.now, operation_id))


def keep_or_forget(draft: Draft, command: c.KeepResource | c.ForgetResource) -> None:
    kept = draft.region.resources.get(fold(command.id))
    if isinstance(command, c.ForgetResource):
        if kept is not None:
            draft.record(f.ResourceForgotten(draft.now, kept.id))
    elif kept is None or (kept.body, kept.owner) != (command.body, fold(command.owner)):
        resource_id = kept.id if kept else command.id
        draft.record(f.ResourceKept(draft.now, resource_id, command.body, fold(command.owner)))
