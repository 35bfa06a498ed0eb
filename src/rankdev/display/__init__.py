"""How results look; no arithmetic."""
