"""``haproxy``: this VM's server is drained, and made ready again, through the runtime socket."""

from __future__ import annotations

import re
from contextlib import closing

from forewarn.guest.agent.config.values import Step
from forewarn.guest.agent.deciding.state import Ended, Outcome
from forewarn.guest.agent.steps.kind import Task, over

_NAME = re.compile(r"[A-Za-z0-9_.:-]+", re.ASCII)
_LONGEST_ANSWER = 65_536
_LOOK_SECONDS = 0.5


class Haproxy:
    """It answers a command that it obeys with nothing but an empty line."""

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> Ended:
        return _set_state(task, "drain")

    def undo(self, task: Task) -> Ended:
        return _set_state(task, "ready")


def _set_state(task: Task, state: str) -> Ended:
    backend, server = task.text("backend"), task.text("server")
    if not _NAME.fullmatch(backend) or not _NAME.fullmatch(server):
        return Ended(Outcome.FAILED, f"{backend}/{server} cannot be the name of a server")
    try:
        said = _tell(task, f"set server {backend}/{server} state {state}\n")
    except TimeoutError:
        return over(task, "haproxy did not answer")
    except OSError as problem:
        return Ended(Outcome.FAILED, f"{task.text('socket')}: {problem.strerror or problem}")
    return Ended(Outcome.FAILED, f"haproxy said: {said[:200]}") if said else Ended(Outcome.DONE)


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
