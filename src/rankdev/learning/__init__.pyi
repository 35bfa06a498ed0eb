"""Position weights and preferences from clicks; training for RDQ."""

from rankdev.learning.interleaving import verdicts_from_clicks as verdicts_from_clicks
from rankdev.learning.position_weights import weights_from_clicks as weights_from_clicks
