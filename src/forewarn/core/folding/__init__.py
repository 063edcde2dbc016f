"""Facts: how each changes a region. No rule lives here."""
