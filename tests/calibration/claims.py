"""All claims by name: what simulates each, and how many trials the long run has."""

from tests.calibration import collected, designs, estimates, judgments, simulations, sparse

PARTS = (simulations, estimates, sparse, judgments, collected, designs)
CLAIMS = {name: claim for part in PARTS for name, claim in part.CLAIMS.items()}
