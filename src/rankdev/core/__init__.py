"""The data model: references, runs, and the order of a run."""
