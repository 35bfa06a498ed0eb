"""What data say about a measure's parameters, and what a measure says to a model: weights from clicks, training for RDQ."""
