"""The HTML report of a comparison, and the RDQ playground."""
