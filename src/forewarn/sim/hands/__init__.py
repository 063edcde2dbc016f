"""Hands under one seed: production's planes with real machines in memory, people who ask, and engines that fail.

A simulation of its own beside that of agents: few VMs, none of which reads, so that events follow each other closely
and what is tried is what happens between the region and its engines.
"""
