"""All claims by name: what simulates each, and how many trials the long run has."""

from tests.calibration import designs, estimates, judgments, simulations, sparse

CLAIMS = {**simulations.CLAIMS, **estimates.CLAIMS, **sparse.CLAIMS, **judgments.CLAIMS, **designs.CLAIMS}
