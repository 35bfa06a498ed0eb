"""Match runs with references once, score every measure on the match."""
