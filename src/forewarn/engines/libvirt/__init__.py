"""Machines that libvirt runs (QEMU): one daemon a host, reached by the address that the server's own files name.

Needs libvirt's Python binding, which is built against the host's libvirt: the extra ``libvirt``, or the distribution's
own package in an environment that sees the system's packages. It is loaded when such an engine is configured.
"""
