"""Where a region is kept, as commands that work beside the server are told: a data directory, or a database."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from forewarn.settings.errors import usage
from forewarn.settings.store_url import read_store
from forewarn.settings.table import SETTINGS

_DATA, _STORE = SETTINGS["data"], SETTINGS["store"]


def data_of(args: argparse.Namespace) -> Path:
    return Path(args.data or os.environ.get(_DATA.variable) or _DATA.default)


def store_of(args: argparse.Namespace) -> str:
    """The database, in the form that the stores take. Whoever names none, or a wrong one, is told so."""
    text = args.store or os.environ.get(_STORE.variable, "")
    if not text:
        raise usage(f"which database? Set {_STORE.variable}, or give {_STORE.flag}.")
    try:
        return read_store(text)
    except ValueError as problem:
        raise usage(f"the setting {_STORE.name} is not right: {problem}.") from None
