"""The paper's experiments, each a short script over the public API."""
