"""The paper's tables and figures for any track of runs and judgments."""
