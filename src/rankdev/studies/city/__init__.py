"""The points-of-interest study with trained rerankers, on real places or on a built-in city."""
