"""Machines of any other platform, behind one small program that speaks the open protocol (docs/engine-protocol.md)."""
