"""The paper's experiments, and synthetic collections."""

from rankdev.studies.simulation import simulate

__all__ = ["simulate"]
