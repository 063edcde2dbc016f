"""A second opinion on what guests see and what may happen to them, written from the specification alone.

Of the product it knows the facts, as data, and nothing else: not how they are folded, decided or encoded. Any
journal can be folded here: the oracle says what every scope must see, and names each fact that no rule allows.
"""

from forewarn.sim.oracle.encoding import Paper
from forewarn.sim.oracle.law import Oracle
from forewarn.sim.oracle.tables import API_VERSIONS, OracleSettings

__all__ = ["API_VERSIONS", "Oracle", "OracleSettings", "Paper"]
