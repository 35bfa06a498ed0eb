"""Experiments behind numbers of the documentation; see README.md here."""
