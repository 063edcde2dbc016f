"""One target under a fuzzer that looks for new paths: ``python -m tests.fuzz.guided TARGET LIBFUZZER-OPTIONS…``.

Atheris has to be there before the code that it watches is imported, so each target runs in a process of its own.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["forewarn"]):
    from tests.fuzz.targets import TARGETS


def main(arguments: list[str]) -> None:
    target = TARGETS[arguments[1]]
    atheris.Setup([arguments[0], *arguments[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
