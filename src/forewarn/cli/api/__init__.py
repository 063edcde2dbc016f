"""The operator API as the command line sees it: a client, the shapes of its answers, and following the journal."""
