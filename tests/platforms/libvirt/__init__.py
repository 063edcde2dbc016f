"""libvirt and QEMU for real: two daemons as two hosts, in namespaces of their own, guests under emulation."""
