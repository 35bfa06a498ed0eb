"""Learning from data and for a measure: position weights from clicks, and training for RDQ."""
