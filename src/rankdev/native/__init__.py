"""What is compiled: a reader of TREC runs in C, built where a compiler is found; everything works without it."""
