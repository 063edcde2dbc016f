"""What stands for the machine in a simulation: time, threads, network, disks, the store."""
