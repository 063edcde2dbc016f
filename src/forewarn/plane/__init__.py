"""The control plane: one writer, its ports, the clock, and what readers see."""
