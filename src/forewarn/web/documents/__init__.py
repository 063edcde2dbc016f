"""What a VM may see, made from a region: used by every face, so that all tell the same."""
