"""What wine can show of programs, services and access lists."""

from __future__ import annotations

import stat
import time
from pathlib import Path

from requirements.windows import ROOT

from tests.platforms.windows.wine import Windows, windows_path

# Starts a program that starts another; both say every tenth of a second that they live. Then its time is over.
FORKING = r"""
import sys, time
from pathlib import Path
from forewarn.guest.system import this_machine
from forewarn.guest.system.parts import Program

CHILD = "import time\nwhile True:\n    open(r'C:\\alive-%s', 'a').write('.'); time.sleep(0.1)"
PARENT = (
    "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', sys.argv[2]]); exec(sys.argv[1])"
)

class Some:
    # until both have said something, or for a minute
    def __init__(self):
        self.ends = time.monotonic() + 60
        for who in ("parent", "child"): Path(f"C:/alive-{who}").unlink(missing_ok=True)
    def left(self):
        if all(Path(f"C:/alive-{who}").exists() for who in ("parent", "child")): return 0.0
        return max(0.0, self.ends - time.monotonic())
    def pause(self, seconds): time.sleep(min(seconds, self.left())); return self.left() > 0

system = this_machine()
words = [sys.executable, "-c", PARENT, CHILD % "parent", CHILD % "child"]
some = Some()
run = system.programs.start(Program(words), Path("C:/runs/1.receipt"), Path("C:/runs/1.output"))
assert not run.wait(some)
if sys.argv[1] == "found":
    run = system.programs.find(Path("C:/runs/1.receipt"))
run.end(everything=True)
print(Path("C:/runs/1.receipt").read_text())
"""


def test_a_step_that_forks_is_ended_with_its_whole_tree(windows: Windows) -> None:
    for how in ("started", "found"):
        said = windows.python("-c", FORKING, how).good()
        assert said.startswith("began ")
        assert "ended" not in said
        sizes = []
        for _ in range(2):
            time.sleep(0.6)
            sizes.append([windows.on_drive(f"alive-{who}").stat().st_size for who in ("parent", "child")])
        assert sizes[0] == sizes[1], "somebody still lives"
        assert min(sizes[0]) > 0, "both lived"


def test_the_service_manager_is_asked_and_waited_for(windows: Windows) -> None:
    tool = windows_path(ROOT / "src" / "forewarn" / "guest" / "system" / "windows" / "services.py")

    def ask(verb: str, name: str = "Spooler") -> tuple[int, str]:
        ended = windows.python("-I", "-S", tool, verb, name)
        return ended.status, ended.out.strip()

    assert ask("start") == (0, "")
    assert ask("running") == (0, "Spooler")
    assert ask("start") == (0, "")
    assert ask("stop") == (0, "")
    assert ask("running") == (0, "")
    assert ask("stop") == (0, "")
    status, said = ask("stop", "no-such-service")
    assert status == 1
    assert said.startswith("no-such-service: ")


STEPS = """
[agent]
endpoint = "http://127.0.0.1:9"
name = "web-0"
state_directory = 'C:\\STATE'

[[rule]]
name = "all"
verdict = "prepare-then-approve"

[[step]]
name = "stop"
kind = "service"
services = ["Spooler", "NAME"]
retries = false

[[step]]
name = "web"
kind = "iis"
pools = ["shop"]
retries = false
"""


def test_a_service_that_is_not_there_is_warned_of_and_fails_the_step_before_anything_is_stopped(
    windows: Windows, tmp_path: Path
) -> None:
    """Nor does IIS that is not installed, as under wine, pass for one whose pools are stopped."""
    tool = windows_path(ROOT / "src" / "forewarn" / "guest" / "system" / "windows" / "services.py")
    config = tmp_path / "agent.toml"
    words = ("--config", windows_path(config))
    windows.python("-I", "-S", tool, "start", "Spooler").good()

    config.write_text(STEPS.replace("NAME", "no-such-service").replace("STATE", "misspelt"))
    said = windows.forewarn("agent", "check", *words).good()
    assert "step 'stop': Windows knows no service no-such-service" in said
    assert "no service Spooler" not in said
    assert "appcmd.exe is not found" in said
    ended = windows.forewarn("agent", "drill", *words)
    assert ended.status == 1, ended.out
    assert (
        "which services run cannot be seen, and none was stopped: ended with status 1: no-such-service: " in ended.out
    )
    assert windows.python("-I", "-S", tool, "running", "Spooler").good() == "Spooler\n"

    config.write_text(STEPS.replace(', "NAME"', "").replace("STATE", "right"))
    ended = windows.forewarn("agent", "drill", *words)
    assert "stop, done after" in ended.out
    assert "which pools run cannot be seen, and none was stopped: ended with status 127: C:" in ended.out
    assert "appcmd.exe: " in ended.out
    assert "all that was done is undone" in ended.out
    assert windows.python("-I", "-S", tool, "running", "Spooler").good() == "Spooler\n"


def test_what_is_for_its_owner_only_is_closed_to_others(windows: Windows) -> None:
    """Wine keeps access lists, and shows them to Linux as modes; the administrators are the group."""
    program = (
        "from pathlib import Path; from forewarn import durable\n"
        "durable.make_directory(Path('C:/closed'))\n"
        "durable.write_whole(Path('C:/secret'), b'one\\n', 0o600)\n"
        "durable.write_whole(Path('C:/secret'), b'two\\x1a\\n', 0o600)\n"
        "durable.write_whole(Path('C:/open'), b'', 0o644)\n"
        "from forewarn.guest.system.windows import access\n"
        "def told(name): return access.others_may_read(Path('C:/', name))\n"
        "assert [told(name) for name in ('closed', 'secret', 'open')] == [False, False, True]\n"
        "durable.make_directory(Path('C:/closed-later'), 0o755)\n"
        "assert told('closed-later')\n"
        "access.close_to_others(Path('C:/closed-later'))\n"
        "assert not told('closed-later')\n"
        "assert access.stranger_who_owns(Path('C:/open')) == ''\n"
        "assert access.lets_others_in('D:P(A;;FA;;;SY)(A;;FR;;;S-1-5-21-1-2-3-1001)', ())\n"
        "assert not access.lets_others_in('D:P(A;;FA;;;SY)(A;;FR;;;S-1-5-21-7)(A;IO;FA;;;WD)', ('S-1-5-21-7',))\n"
        "assert access.lets_others_in('D:NO_ACCESS_CONTROL', ())\n"
    )
    windows.python("-c", program).good()
    names = ("closed", "secret", "open", "closed-later")
    modes = {name: stat.S_IMODE(windows.on_drive(name).stat().st_mode) for name in names}
    assert modes["closed"] & 0o007 == 0
    assert modes["closed-later"] & 0o007 == 0
    assert modes["secret"] & 0o007 == 0
    assert modes["open"] & 0o004
    assert windows.on_drive("secret").read_bytes() == b"two\x1a\n"


def test_a_lock_is_seen_by_others_who_can_read_what_is_noted(windows: Windows) -> None:
    program = (
        "import subprocess, sys; from pathlib import Path; from forewarn.durable import FileLock\n"
        "lock = FileLock(Path('C:/lock')); lock.note('who has it')\n"
        "other = 'from pathlib import Path; from forewarn.durable import FileLock; p = Path(chr(67) + chr(58) + chr(47)"
        " + chr(108) + chr(111) + chr(99) + chr(107)); print(p.read_text()); FileLock(p)'\n"
        "done = subprocess.run([sys.executable, '-c', other], capture_output=True, text=True)\n"
        "print(done.stdout, done.stderr)\n"
        "lock.close(); FileLock(Path('C:/lock')).close()\n"
    )
    said = windows.python("-c", program).good()
    assert "who has it" in said
    assert "BlockingIOError" in said
