"""Texts of rankdev help."""
