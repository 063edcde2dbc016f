"""libvirt's Python binding, which no environment of ours has: Debian's own, if it is for this Python."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_DEBIANS = Path("/usr/lib/python3/dist-packages")  # where python3-libvirt lies: it is built for Debian's libvirt
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def put_binding(folder: Path) -> str:
    """Put libvirt's binding on the path. Why that, a daemon or a namespace cannot be had; empty where all is well."""
    if os.geteuid() != 0:
        return "namespaces and a daemon of its own need root"
    for program in ("libvirtd", "virsh", "qemu-system-x86_64", "qemu-img", "cpio"):
        if shutil.which(program, path=_PATH) is None:
            return f"{program} is not installed: bash requirements/system.sh platforms"
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    modules = [*_DEBIANS.glob("libvirt*.py"), *_DEBIANS.glob(f"libvirtmod*.{tag}-*.so")]
    if not any(module.suffix == ".so" for module in modules):
        return f"Debian's python3-libvirt is not for this Python ({tag})"
    seen = folder / "binding"  # the binding alone: nothing else of Debian's Python is to be seen
    seen.mkdir()
    for module in modules:
        (seen / module.name).symlink_to(module)
    sys.path.append(str(seen))
    return ""
