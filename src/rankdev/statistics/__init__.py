"""Statistics about scores: significance, power, stability, sensitivity, agreement, planning."""
