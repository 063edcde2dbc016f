"""The ``forewarn`` program. An agent, which lives for years in every VM, is started without the rest of it."""

from __future__ import annotations

import sys


def main() -> int:
    """Run what was typed and return its exit status."""
    if sys.argv[1:3] == ["agent", "run"]:
        from forewarn.guest.agent.run import read_words, start

        order = read_words(sys.argv[3:])
        if order is not None:
            return start(order)
    from forewarn.cli.main import main as whole

    return whole()


if __name__ == "__main__":
    sys.exit(main())
