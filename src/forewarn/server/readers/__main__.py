"""``python -m forewarn.server.readers DESCRIPTOR``: begun by a server, never by a person."""

from __future__ import annotations

import sys

from forewarn.server.readers.life import main

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
