"""What ``forewarn mock`` and ``run`` refuse before anything is started."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Run


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run",), "there is no command to run; write it after --"),
        (("run", "--in", "5m", "--", "true"), "give a --type too"),
        (("run", "--type", "Terminate", "--in", "30s", "--", "true"), "5 to 15 minutes"),
        (("run", "--type", "Reboot", "--vm", "a", "--vm", "b", "--", "true"), "for a region of one VM"),
        (("run", "--clock", "fast", "--", "true"), "'fast' is not a clock"),
        (("mock", "--type", "Rebot"), "there is no choice 'rebot' here; did you mean 'reboot'?"),
        (("mock", "--in", "soon"), "'soon' is not a duration"),
        (("mock", "--clock", "x0"), "'x0' is not a clock"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(run: Run, words: tuple[str, ...], sentence: str) -> None:
    result = run(*words)

    assert (result.status, result.out) == (2, "")
    assert sentence in result.err
    assert len(result.err.splitlines()) == 1
