"""Report()."""
