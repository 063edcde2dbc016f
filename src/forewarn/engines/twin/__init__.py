"""Real machines in memory: hosts with machines on them, an engine over these, and misfortunes on demand.

For tests and the simulator. What stands behind the engine loses answers, hangs, refuses and lies as real platforms do;
the engine itself keeps every promise of the port, and passes the same contract suite as all others.
"""
