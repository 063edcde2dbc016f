"""What reads of some VMs need of a region: cut out where the region is, sent, and held where the VMs are."""
