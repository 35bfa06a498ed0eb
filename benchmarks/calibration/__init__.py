"""Is what we say about scores true? Simulated with known truth: short in `make test-rest`, long in `make calibrate`."""
