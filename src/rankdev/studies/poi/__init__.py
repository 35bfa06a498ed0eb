"""The points-of-interest study: the paper's Tables 2 and 3 and Figure 1."""
