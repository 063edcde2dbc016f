"""Bugs that are planted into the product, so that the simulator has to find them."""

from tests.sim.plants.first import FIRST
from tests.sim.plants.hosts import HOSTS
from tests.sim.plants.keeping import KEEPING
from tests.sim.plants.outside import OUTSIDE
from tests.sim.plants.plant import Plant
from tests.sim.plants.readers import READERS
from tests.sim.plants.relays import RELAYS

SEAMS = (*READERS, *HOSTS, *KEEPING, *RELAYS)
PLANTS: dict[str, Plant] = {plant.name: plant for plant in (*FIRST, *OUTSIDE, *SEAMS)}
