"""A region, its VMs, its people and its misfortunes in one thread, on a clock that jumps, under one seed."""
