"""What search ranks: text analysis, BM25, vectors and their fusion, held in memory per user and per org."""
