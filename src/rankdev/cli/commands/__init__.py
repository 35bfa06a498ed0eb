"""One file per command; each defines ``command``."""
