"""TREC Deep Learning: the paper's Table 4 and Figure 2, and the pipeline that makes their runs."""
