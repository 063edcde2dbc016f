"""``haproxy``: this VM's server is drained, and made ready again, through the runtime socket."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_path, check_text
from forewarn.guest.agent.steps.kind import Need, Settings, Task, over
from forewarn.guest.agent.values import Step

_NAME = re.compile(r"[A-Za-z0-9_.:-]+", re.ASCII)
_LONGEST_ANSWER = 65_536  # an answer of the stats socket to `set server` is one line; this bounds a stray peer
_LOOK_SECONDS = 0.5  # how late the step may notice that its time is over


class Haproxy:
    """It answers a command that it obeys with nothing but an empty line."""

    one_program = False
    keys = StepKeys(
        {
            "socket": Key(
                check_path, "HAProxy's runtime socket, of level admin", '"/run/haproxy/admin.sock"', required=True
            ),
            "backend": Key(check_text, "the server is set to drain, and to ready afterwards", '"web"', required=True),
            "server": Key(check_text, "its name in that backend", '"web-0"', required=True),
        }
    )

    def does(self, settings: Settings) -> str:
        return f"drain {settings.get('backend')}/{settings.get('server')}"

    def undoes(self, settings: Settings) -> str:
        return f"make {settings.get('backend')}/{settings.get('server')} ready"

    def needs(self, settings: Settings) -> Iterable[Need]:
        return (Need("socket", str(settings.get("socket"))),)

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> StepEnd:
        return _set_state(task, "drain")

    def undo(self, task: Task) -> StepEnd:
        return _set_state(task, "ready")


def _set_state(task: Task, state: str) -> StepEnd:
    backend, server = task.text("backend"), task.text("server")
    if not _NAME.fullmatch(backend) or not _NAME.fullmatch(server):
        return StepEnd(StepOutcome.FAILED, f"{backend}/{server} cannot be the name of a server")
    try:
        said = _tell(task, f"set server {backend}/{server} state {state}\n")
    except TimeoutError:
        return over(task, "haproxy did not answer")
    except OSError as problem:
        return StepEnd(StepOutcome.FAILED, f"{task.text('socket')}: {problem.strerror or problem}")
    return StepEnd(StepOutcome.FAILED, f"haproxy said: {said[:200]}") if said else StepEnd(StepOutcome.DONE)


def _tell(task: Task, line: str) -> str:
    seconds = max(0.01, min(task.budget.left(), 5.0))
    with closing(task.system.sockets.connect_local(task.text("socket"), seconds)) as connection:
        connection.sendall(line.encode())
        answer = b""
        while len(answer) < _LONGEST_ANSWER:
            connection.settimeout(_LOOK_SECONDS)
            try:
                data = connection.recv(4096)
            except TimeoutError:
                if task.budget.left() <= 0:
                    raise
                continue
            if not data:
                break
            answer += data
        return answer.decode("utf-8", "replace").strip()
