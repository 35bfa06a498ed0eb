"""The parts of the judging page."""
