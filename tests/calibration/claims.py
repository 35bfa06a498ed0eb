"""All claims by name: what simulates each, and how many trials the long run has."""

from tests.calibration import estimates, judgments, simulations

CLAIMS = {**simulations.CLAIMS, **estimates.CLAIMS, **judgments.CLAIMS}
