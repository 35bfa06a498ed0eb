"""Is what we say about scores true? Simulations with known truth: short in `make test-rest`, `make calibrate` long."""
