"""All claims by name: what simulates each, and how many trials the long run has."""

from tests.calibration import designs, estimates, judgments, simulations

CLAIMS = {**simulations.CLAIMS, **estimates.CLAIMS, **judgments.CLAIMS, **designs.CLAIMS}
