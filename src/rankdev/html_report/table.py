"""Table() for papers: best bold, significance markers."""
