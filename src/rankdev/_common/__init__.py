"""Helpers used by every package."""
