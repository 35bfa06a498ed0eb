"""Power maps: which measure has the most power, by how two systems differ; and where real pairs of systems lie."""
