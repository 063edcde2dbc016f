"""libvirt's Python binding: loaded on demand, its errors as sentences, its event loop in a thread of its own.

The binding has no types; what the engine uses of it is declared here as protocols, so that the rest stays checked.
"""

from __future__ import annotations

import importlib
import threading
from functools import cache
from typing import Any

from forewarn.plane.hands.engine import EngineFault

MISSING = (
    "An engine of kind libvirt needs libvirt's Python binding, which this Python cannot load: {}. Build it for this "
    "Python with the libvirt extra, or install the distribution's own package (Debian: python3-libvirt) and make the "
    "environment with --system-site-packages."
)
# libvirt's virErrorNumber, from include/libvirt/virterror.h: that asking again cannot help
_LASTING = frozenset({3, 8, 27, 67, 84})  # NO_SUPPORT INVALID_ARG XML_ERROR CONFIG_UNSUPPORTED OPERATION_UNSUPPORTED
NO_DOMAIN = 42  # of the same list
CHANGED_MEANWHILE = frozenset({NO_DOMAIN, 55})  # of the same list; 55 is OPERATION_INVALID, "domain is not running"
WORDS_MOST = 400  # letters of a refusal that are passed on; ours: some carry the whole output of QEMU
OPERATION_UNSUPPORTED = 84  # of the same list
NO_DOMAIN_METADATA = 80  # of the same list
NO_STORAGE_VOL = 50  # of the same list
NO_STORAGE_POOL = 49  # of the same list


@cache
def libvirt() -> Any:
    """The module, with its event loop running: without that no connection notices that its daemon is gone."""
    try:
        module: Any = importlib.import_module("libvirt")
    except ImportError as fault:
        raise EngineFault(MISSING.format(fault)) from fault
    module.registerErrorHandler(lambda *_: None, None)  # errors are raised; libvirt prints them as well otherwise
    module.virEventRegisterDefaultImpl()

    def run_on() -> None:
        while True:
            module.virEventRunDefaultImpl()

    threading.Thread(target=run_on, name="libvirt-events", daemon=True).start()
    return module


def is_libvirts(fault: Exception) -> bool:
    return isinstance(fault, libvirt().libvirtError)


def code_of(fault: Any) -> int:
    return int(fault.get_error_code() or 0)


def is_lasting(fault: Any) -> bool:
    """Whether asking again cannot help."""
    return code_of(fault) in _LASTING


def words_of(fault: Any) -> str:
    """The refusal word for word, behind a sentence of ours."""
    return f"libvirt says: {str(fault.get_error_message() or fault)[:WORDS_MOST]}"
