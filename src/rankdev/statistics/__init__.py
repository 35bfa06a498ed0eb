"""Judge the judges: significance, power, stability, sensitivity, agreement, planning."""
