"""Machines that libvirt runs (QEMU): one daemon a host, reached by the address that the server's own files name.

Needs libvirt's Python binding, which is built against the host's libvirt: Debian's ``python3-libvirt`` in an
environment that sees the system's packages, or ``libvirt-python`` built from source. It is loaded when such an engine
is configured.
"""
