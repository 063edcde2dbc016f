"""Runs a reader that is broken on purpose: ``python sabotaged_reader.py DESCRIPTOR``, begun by a node that is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.pop(0)  # this file's directory, whose modules are no part of the program
sys.path.append(str(Path(__file__).parents[2]))

from forewarn.server.readers.life import main
from tests.loss.reader_sabotage import IN_READERS

if __name__ == "__main__":
    IN_READERS[os.environ["LOSS_SABOTAGE"]]()
    sys.exit(main(int(sys.argv[1])))
