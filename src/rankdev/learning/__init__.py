"""Position weights and preferences from clicks; training for RDQ."""

from rankdev.learning.position_weights import weights_from_clicks

__all__ = ["weights_from_clicks"]
