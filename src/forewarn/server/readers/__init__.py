"""Readers: processes of one server that answer at its metadata port, so that reads have more than one core.

The server decides, writes and publishes; a reader holds documents and answers with them. Everything else that a VM may
send it hands on to the server as it came. ``crew`` and what it stands on run in the server; ``life`` and what it stands
on in a reader; both know ``channel``, ``messages`` and ``shared_number``.
"""
