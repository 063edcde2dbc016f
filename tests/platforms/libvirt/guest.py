"""A guest made of Debian's packages: the cloud kernel and an initramfs of busybox and a few modules of that kernel.

Built once, below ``.build/guest``. Under QEMU's emulation it is up after some two seconds. It obeys the power button by
itself (busybox's acpid), unless its kernel command line says ``deaf``.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

from tests.platforms.guests.tree import HOME, tree

MODULES = (
    "drivers/acpi/button",
    "drivers/input/evdev",
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci",
    "drivers/block/virtio_blk",
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
)
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
for module in {modules}; do insmod /modules/$module.ko; done
mkdir -p /etc/acpi/PWRF /var/run /var/log
printf '#!/bin/sh\\npoweroff -f\\n' > /etc/acpi/PWRF/00000080; chmod 755 /etc/acpi/PWRF/00000080
grep -qw deaf /proc/cmdline || acpid -d > /dev/null 2>&1 &
grep -qw panic /proc/cmdline && {{ sleep 1; echo c > /proc/sysrq-trigger; }}
[ -e /inside/start ] && sh /inside/start &
echo UP > /dev/ttyS0
while :; do sleep 3600; done
"""


def kernel() -> Path:
    """The kernel, unpacked from Debian's package; nothing is installed."""
    found = next(HOME.glob("kernel/boot/vmlinuz-*"), None)
    if found is None:
        depends = _output("apt-cache", "depends", "linux-image-cloud-amd64")
        name = next(word for word in depends.split() if word.startswith("linux-image-") and word[12].isdigit())
        _unpack(name, HOME / "kernel")
        (found,) = HOME.glob("kernel/boot/vmlinuz-*")
    return found


def filters() -> Path:
    """libvirt's own filters (``clean-traffic`` and its parts), unpacked from Debian's package."""
    made = HOME / "filters/usr/share/libvirt/nwfilter"
    if not made.exists():
        _unpack("libvirt-daemon-config-nwfilter", HOME / "filters")
    return made


def blank_disk() -> Path:
    """A file system with a journal, as agents' states want one: a guest that is cut off finds it whole again."""
    made = HOME / "blank.raw"
    if not made.exists():
        half = HOME / f"blank.{os.getpid()}"
        with half.open("wb") as file:
            file.truncate(16 * 2**20)
        subprocess.run(["/sbin/mkfs.ext4", "-q", "-F", str(half)], check=True)
        half.rename(made)
    return made


def with_agent() -> Path:
    """The initramfs of a guest with Debian's Python and the product's agent: ``tests.platforms.guests``."""
    files = tree()
    return initramfs(f"agent-{files.name}", {".": files})


def initramfs(name: str, extra: dict[str, Path] | None = None) -> Path:
    """Busybox, the modules, and what is in ``extra``: a path in the guest -> a file or folder of this machine."""
    made = HOME / f"{name}.cpio.gz"
    if made.exists():
        return made
    modules = next((kernel().parents[1] / "lib/modules").iterdir()) / "kernel"
    root = HOME / f"{name}.{os.getpid()}"
    for folder in ("bin", "proc", "sys", "dev", "tmp", "etc", "modules"):
        (root / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for module in MODULES:
        shutil.copy(modules / f"{module}.ko", root / "modules")
    init = root / "init"
    init.write_text(_INIT.format(modules=" ".join(Path(module).name for module in MODULES)))
    init.chmod(0o755)
    for inside, outside in (extra or {}).items():
        target = root / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        if outside.is_dir():
            shutil.copytree(outside, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(outside, target)
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    packed = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=subprocess.PIPE, check=True
    )
    half = made.with_suffix(f".{os.getpid()}")
    half.write_bytes(gzip.compress(packed.stdout, 1))
    half.rename(made)
    shutil.rmtree(root)
    return made


def _unpack(package: str, place: Path) -> None:
    HOME.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", "-qq", package], cwd=HOME, check=True)
    (file,) = HOME.glob(f"{package}_*.deb")
    subprocess.run(["dpkg-deb", "-x", str(file), str(place)], check=True)
    file.unlink()


def _output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
