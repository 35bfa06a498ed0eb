"""rankdev inside other tools: one file each, imported on use. None of them is needed for anything else."""
