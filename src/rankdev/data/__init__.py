"""Any source of references and runs, read as columns: rows first, which all sources become."""
