"""The commands, by subject; the table in :mod:`rankdev.cli` names the module of each."""
