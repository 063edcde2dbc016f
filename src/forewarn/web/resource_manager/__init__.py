"""The Resource Manager face: what the unmodified ``az`` and the SDKs talk to."""
