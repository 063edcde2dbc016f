"""A relay: the metadata face beside the VMs, on news from a node. It is small: the control faces are not loaded."""
