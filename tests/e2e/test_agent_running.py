"""Programs that hang, fork, flood, fail and leave children: none of them gets away with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts, adopt, run
from forewarn.guest.system import this_machine
from forewarn.guest.system.parts import OUTPUT_BYTES, Program

MACHINE = this_machine()

PLENTY = 30.0
# What a test starts and must not outlive it tells its process id through a pipe that it holds open.
HOLDER = 'echo $$ >"$PIPE"; exec 9>"$PIPE"; trap "" TERM; while :; do sleep 600; done'


@pytest.fixture
def receipts(tmp_path: Path) -> Receipts:
    return Receipts(tmp_path / "runs", "run-1")


def shell(script: str, **environment: str) -> Program:
    return Program(["/bin/sh", "-c", script], environment=environment)


class Pipe:
    """Ends when the last process that holds it has ended: so the end of others' processes can be awaited."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self._file, True)

    def until_nobody_holds_it(self) -> bytes:
        data = b""
        while piece := os.read(self._file, 4096):
            data += piece
        os.close(self._file)
        return data


def test_a_program_gets_its_input_and_environment_and_its_status_counts(receipts: Receipts) -> None:
    program = Program(["/bin/sh", "-c", 'read line; echo "$line $WORD"'], b"hello\n", {"WORD": "there"})
    assert run(MACHINE, program, Budget(MACHINE, PLENTY), receipts) == StepEnd(StepOutcome.DONE, "hello there")


@pytest.mark.parametrize(("status", "said"), [(1, "status 1"), (255, "status 255"), (137, "SIGKILL")])
def test_any_other_status_is_a_failure(receipts: Receipts, status: int, said: str) -> None:
    ended = run(MACHINE, shell(f"exit {status}"), Budget(MACHINE, PLENTY), receipts)
    assert ended.outcome is StepOutcome.FAILED
    assert said in ended.detail


def test_a_program_that_is_not_there_is_a_failure(receipts: Receipts) -> None:
    ended = run(MACHINE, Program(["/no/such/program"]), Budget(MACHINE, PLENTY), receipts)
    assert ended.outcome is StepOutcome.FAILED
    assert "not found" in ended.detail


def test_a_directory_that_is_not_there_is_a_failure(receipts: Receipts) -> None:
    ended = run(MACHINE, Program(["true"], directory="/no/such/directory"), Budget(MACHINE, PLENTY), receipts)
    assert ended.outcome is StepOutcome.FAILED


def test_a_program_that_hangs_is_ended_with_its_group(tmp_path: Path, receipts: Receipts) -> None:
    pipe = Pipe(tmp_path / "pipe")
    ended = run(MACHINE, shell(f"({HOLDER}) & {HOLDER}", PIPE=str(pipe.path)), Budget(MACHINE, 0.3), receipts)
    assert ended.outcome is StepOutcome.TIMED_OUT
    pipe.until_nobody_holds_it()


@pytest.mark.parametrize(
    ("timeout", "said"),
    [(0.3, "was ended by its own timeout of 0.3 s"), (60, "took longer than there was time before the event")],
)
def test_what_ended_a_program_that_hangs_is_told_truly(receipts: Receipts, timeout: float, said: str) -> None:
    ended = run(MACHINE, shell("sleep 600"), Budget(MACHINE, 0.3, timeout), receipts)
    assert (ended.outcome, ended.detail) == (StepOutcome.TIMED_OUT, said)


def test_those_who_leave_the_group_of_a_program_that_hangs_are_found(tmp_path: Path, receipts: Receipts) -> None:
    pipe = Pipe(tmp_path / "pipe")
    script = f"setsid /bin/sh -c '{HOLDER}' & {HOLDER}"
    ended = run(MACHINE, shell(script, PIPE=str(pipe.path)), Budget(MACHINE, 0.5), receipts)
    assert ended.outcome is StepOutcome.TIMED_OUT
    pipe.until_nobody_holds_it()


def test_children_in_the_background_end_with_the_program(tmp_path: Path, receipts: Receipts) -> None:
    pipe = Pipe(tmp_path / "pipe")
    ended = run(MACHINE, shell(f"({HOLDER}) & exit 0", PIPE=str(pipe.path)), Budget(MACHINE, PLENTY), receipts)
    assert ended.outcome is StepOutcome.DONE
    pipe.until_nobody_holds_it()


def test_a_daemon_that_a_program_started_properly_may_stay(tmp_path: Path, receipts: Receipts) -> None:
    told = tmp_path / "pid"  # before that, the daemon is a mere child in the background
    script = f"setsid -f /bin/sh -c 'echo $$ >{told}; exec sleep 600'; until [ -s {told} ]; do sleep 0.01; done"
    ended = run(MACHINE, shell(script), Budget(MACHINE, PLENTY), receipts)
    assert ended.outcome is StepOutcome.DONE
    os.kill(int(told.read_text()), signal.SIGKILL)


def test_a_flood_of_output_is_cut(receipts: Receipts) -> None:
    ended = run(MACHINE, shell("yes flood | head -c 50000000; echo the end"), Budget(MACHINE, PLENTY), receipts)
    assert ended.outcome is StepOutcome.DONE
    assert receipts.output.stat().st_size == OUTPUT_BYTES


def test_an_endless_flood_ends_with_the_budget(receipts: Receipts) -> None:
    assert run(MACHINE, shell("yes"), Budget(MACHINE, 0.3), receipts).outcome is StepOutcome.TIMED_OUT


def test_a_program_that_forks_and_forks_is_ended(tmp_path: Path, receipts: Receipts) -> None:
    pipe = Pipe(tmp_path / "pipe")
    script = f'exec 9>"$PIPE"; for i in 1 2 3 4 5 6 7 8; do ({HOLDER}) & done; wait'
    assert (
        run(MACHINE, shell(script, PIPE=str(pipe.path)), Budget(MACHINE, 0.5), receipts).outcome
        is StepOutcome.TIMED_OUT
    )
    pipe.until_nobody_holds_it()


def test_a_program_that_does_not_read_its_input_is_not_waited_for(receipts: Receipts) -> None:
    assert run(MACHINE, Program(["true"], b"x" * 500_000), Budget(MACHINE, PLENTY), receipts).good


def test_work_that_is_called_off_says_so(receipts: Receipts) -> None:
    budget = Budget(MACHINE, PLENTY)
    threading.Timer(0.1, budget.call_off).start()
    assert run(MACHINE, shell("sleep 600"), budget, receipts).outcome is StepOutcome.INTERRUPTED


def test_a_budget_can_be_shortened_while_a_program_runs(receipts: Receipts) -> None:
    budget = Budget(MACHINE, PLENTY)
    threading.Timer(0.1, budget.set_left, [0]).start()
    assert run(MACHINE, shell("sleep 600"), budget, receipts).outcome is StepOutcome.TIMED_OUT


# What an agent that was killed finds afterwards

_KILLED_AGENT = """
import sys
from pathlib import Path
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts, run
from forewarn.guest.system import this_machine
from forewarn.guest.system.parts import Program
machine = this_machine()
run(machine, Program(["/bin/sh", "-c", sys.argv[2]]), Budget(machine, 600), Receipts(Path(sys.argv[1]), "run-1"))
"""


def _kill_while_it_runs(receipts: Receipts, pipe: Path, script: str) -> None:
    """An agent is killed when the script has told that it runs."""
    os.mkfifo(pipe)
    file = os.open(pipe, os.O_RDWR)
    arguments = [sys.executable, "-c", _KILLED_AGENT, str(receipts.directory), script]
    agent = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    os.read(file, 1)
    agent.kill()
    agent.wait()
    os.close(file)


@pytest.mark.parametrize(("status", "outcome"), [(0, StepOutcome.DONE), (3, StepOutcome.FAILED)])
def test_a_program_whose_agent_was_killed_goes_on_and_its_status_is_known(
    tmp_path: Path, receipts: Receipts, status: int, outcome: StepOutcome
) -> None:
    pipe, gate = tmp_path / "pipe", tmp_path / "gate"
    os.mkfifo(gate)
    _kill_while_it_runs(receipts, pipe, f"echo >{pipe}; read -r word <{gate}; echo still talking; exit {status}")
    held = os.open(gate, os.O_RDWR)
    os.write(held, b"go\n")
    assert adopt(MACHINE, receipts, Budget(MACHINE, PLENTY), same_boot=True).outcome is outcome
    os.close(held)


def test_a_program_whose_agent_was_killed_is_ended_when_its_time_is_over(tmp_path: Path, receipts: Receipts) -> None:
    _kill_while_it_runs(receipts, tmp_path / "pipe", f"echo >{tmp_path / 'pipe'}; sleep 600")
    assert adopt(MACHINE, receipts, Budget(MACHINE, 0.1), same_boot=True).outcome is StepOutcome.TIMED_OUT


def test_what_was_announced_and_left_no_receipt_never_began_unless_the_machine_went_down(receipts: Receipts) -> None:
    assert adopt(MACHINE, receipts, Budget(MACHINE, 1), same_boot=True).outcome is StepOutcome.NEVER_BEGAN
    assert adopt(MACHINE, receipts, Budget(MACHINE, 1), same_boot=False).outcome is StepOutcome.UNKNOWN


@pytest.mark.parametrize(
    ("text", "same_boot", "outcome"),
    [
        ("", True, StepOutcome.NEVER_BEGAN),
        ("", False, StepOutcome.UNKNOWN),
        ("began 1\n", True, StepOutcome.UNKNOWN),
        ("began 1\n", False, StepOutcome.UNKNOWN),
        ("began 1\nended 0\n", False, StepOutcome.DONE),
        ("began 1\nended 7\n", True, StepOutcome.FAILED),
    ],
)
def test_a_receipt_is_read_as_far_as_it_goes(
    receipts: Receipts, text: str, same_boot: bool, outcome: StepOutcome
) -> None:
    receipts.directory.mkdir()
    receipts.receipt.write_text(text)
    assert adopt(MACHINE, receipts, Budget(MACHINE, 1), same_boot=same_boot).outcome is outcome
