"""Is what we say about scores true? Simulations with a known truth; short in `make test-rest`, long by `make calibrate`."""
