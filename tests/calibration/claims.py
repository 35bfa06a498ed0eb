"""All claims by name: what simulates each, and how many trials the long run has."""

from tests.calibration import (
    boards,
    clicks,
    clustered,
    collected,
    dependence,
    designs,
    estimates,
    gates,
    judgments,
    simulations,
    sparse,
)

PARTS = (
    simulations,
    estimates,
    sparse,
    judgments,
    collected,
    designs,
    clustered,
    boards,
    gates,
    dependence,
    clicks,
)
CLAIMS = {name: claim for part in PARTS for name, claim in part.CLAIMS.items()}
