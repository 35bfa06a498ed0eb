"""What data say about a measure's parameters: position weights from clicks."""
