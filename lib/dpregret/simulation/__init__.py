"""Seeds keyed by names, and experiments over grids of parameters."""

from dpregret.simulation.grid import run_grid
from dpregret.simulation.seeds import generator, seed_sequence

__all__ = ["generator", "run_grid", "seed_sequence"]
