"""``http``: one call before, another after."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.calling import call
from forewarn.guest.agent.doing.programs import last_lines
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_body, check_method, check_table, check_url
from forewarn.guest.agent.steps.kind import Need, Settings, Task, event_json, over
from forewarn.guest.agent.values import Step
from forewarn.wire.json_bytes import write_json

_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})


class Http:
    """A status from 200 to 299 is success. Without a body of its own the call carries the event."""

    one_program = False
    keys = StepKeys(
        {
            "url": Key(
                check_url,
                "called before the event; 200 to 299 is success",
                '"http://127.0.0.1:8080/drain"',
                required=True,
            ),
            "method": Key(check_method, "default `POST`", '"POST"'),
            "headers": Key(check_table, "a table"),
            "body": Key(check_body, "text, or a table that is sent as JSON; left out, the event itself"),
            "undo_url": Key(check_url, "called afterwards; left out, there is nothing to undo"),
            "undo_method": Key(check_method, "default `POST`"),
            "undo_body": Key(check_body, "as `body`"),
        }
    )

    def does(self, settings: Settings) -> str:
        return f"{settings.get('method', 'POST')} {settings.get('url')}"

    def undoes(self, settings: Settings) -> str:
        return f"{settings.get('undo_method', 'POST')} {settings['undo_url']}" if "undo_url" in settings else ""

    def needs(self, settings: Settings) -> Iterable[Need]:
        return ()

    def natural(self, step: Step) -> bool:
        return str(step.settings.get("method", "POST")).upper() in _IDEMPOTENT

    def has_reverse(self, step: Step) -> bool:
        return "undo_url" in step.settings

    def do(self, task: Task) -> StepEnd:
        return _call(task, task.text("method", "POST"), task.text("url"), task.step.settings.get("body"))

    def undo(self, task: Task) -> StepEnd:
        if not self.has_reverse(task.step):
            return StepEnd(StepOutcome.DONE)
        settings = task.step.settings
        return _call(task, task.text("undo_method", "POST"), task.text("undo_url"), settings.get("undo_body"))


def _call(task: Task, verb: str, url: str, body: object) -> StepEnd:
    verb = verb.upper()
    data = event_json(task.event) if body is None else body.encode() if isinstance(body, str) else write_json(body)
    if verb in ("GET", "HEAD") and body is None:
        data = b""
    kind = {"Content-Type": "application/json"} if data and not isinstance(body, str) else {}
    answer = call(task.system.sockets, verb, url, task.budget, headers={**kind, **task.table("headers")}, body=data)
    if isinstance(answer, str):
        return over(task, answer) if task.budget.left() <= 0 else StepEnd(StepOutcome.FAILED, answer)
    if 200 <= answer.status < 300:
        return StepEnd(StepOutcome.DONE)
    return StepEnd(
        StepOutcome.FAILED, f"it answered {answer.status}: {last_lines(answer.body.decode('utf-8', 'replace'))}"
    )
