"""Every result class."""
